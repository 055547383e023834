#!/usr/bin/env bash
# Long run of the oracle tests under the sanitizers, over many more random scenarios than
# scripts/test.sh (the tests read HEADROOM_SOAK). Options go to ctest.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
"$root/scripts/setup.sh" test
cd "$root"
cmake --preset asan >/dev/null
cmake --build --preset asan --target tests_oracle
HEADROOM_SOAK=1 ctest --preset asan -j "$(nproc)" -L '^oracle$' --timeout 36000 "$@"
