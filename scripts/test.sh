#!/usr/bin/env bash
# Builds the release preset and runs every test. Options go to ctest:
#   scripts/test.sh                   everything
#   scripts/test.sh -L unit           one label: unit, oracle, laws, golden, e2e
#   scripts/test.sh -R 'paged' -V     tests whose name matches, verbosely
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
"$root/scripts/setup.sh" test
cd "$root"
cmake --preset release
cmake --build --preset release
ctest --preset release -j "$(nproc)" "$@"
