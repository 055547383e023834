#!/usr/bin/env bash
# The library from two threads at once, under the thread sanitizer: prints the same bytes, no race.
#   scripts/threads.sh
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
cmake --preset tsan
cmake --build --preset tsan --target api_two_threads
ctest --preset tsan -L '^api$'
