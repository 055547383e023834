#!/usr/bin/env bash
# Builds and runs the benchmarks, as a release build. Options go to Google Benchmark:
#   scripts/bench.sh --benchmark_filter=queue --benchmark_repetitions=5
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if [ ! -e "$root/tests/bench/CMakeLists.txt" ]; then
  echo "bench.sh: this version has no benchmarks (tests/bench)" >&2
  exit 1
fi
"$root/scripts/setup.sh" test
cd "$root"
cmake --preset release >/dev/null
cmake --build --preset release --target headroom_bench
git log -1 --format='commit %h %s' 2>/dev/null || true
grep -m1 '^model name' /proc/cpuinfo || uname -m
exec build/release/bin/headroom_bench "$@"
