#!/usr/bin/env bash
# Long run of the oracle tests under the sanitizers, over HEADROOM_SOAK (default 20) times as many
# random scenarios as scripts/test.sh. Options go to Catch2.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
"$root/scripts/setup.sh" test
cd "$root"
cmake --preset asan >/dev/null
cmake --build --preset asan --target tests_oracle
export HEADROOM_SOAK=${HEADROOM_SOAK:-20}
# One program: ctest would stop a file after the time that its tests take in CI.
exec build/asan/bin/tests_oracle "$@"
