#!/usr/bin/env bash
# Long run of the oracle tests under the sanitizers, over HEADROOM_SOAK (default 20) times as many
# random scenarios as scripts/test.sh. Options go to ctest.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
"$root/scripts/setup.sh" test
cd "$root"
cmake --preset asan >/dev/null
cmake --build --preset asan --target tests_oracle
export HEADROOM_SOAK=${HEADROOM_SOAK:-20}
ctest --preset asan -j "$(nproc)" -L '^oracle$' --timeout 36000 "$@"
