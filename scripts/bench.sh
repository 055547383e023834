#!/usr/bin/env bash
# Builds the benchmarks as scripts/demo.sh builds the program, across files, and runs them. Options
# go to Google Benchmark:
#   scripts/bench.sh --benchmark_filter=queue --benchmark_repetitions=5
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if [ ! -e "$root/tests/bench/CMakeLists.txt" ]; then
  echo "bench.sh: this version has no benchmarks (tests/bench)" >&2
  exit 1
fi
"$root/scripts/setup.sh" test
cd "$root"
cmake --preset bench >/dev/null
cmake --build --preset bench --target headroom_bench
git log -1 --format='commit %h %s' 2>/dev/null || true
grep -m1 '^model name' /proc/cpuinfo || uname -m
exec build/bench/bin/headroom_bench "$@"
