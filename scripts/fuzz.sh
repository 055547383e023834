#!/usr/bin/env bash
# Builds the trace fuzzer with clang++ (libFuzzer, AddressSanitizer, UndefinedBehaviorSanitizer) and
# runs it on one core. Options behind the seconds go to libFuzzer.
#   scripts/fuzz.sh [SECONDS [OPTION...]]    60 seconds without an argument
# Everything it makes lies in build/fuzz, or in $HEADROOM_FUZZ_DIR: the program, inputs that reach
# new code (corpus/, the start of the next run), and inputs that fail (crash-*, timeout-*, oom-*).
# Such an input, minimised with `-minimize_crash=1`, belongs into tests/fuzz/corpus/traces, whose
# files are read again by the unit tests.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
seconds=${1:-60}
if ! [[ $seconds =~ ^[0-9]+$ ]]; then
  echo "usage: scripts/fuzz.sh [SECONDS [OPTION...]]" >&2
  exit 2
fi
"$root/scripts/setup.sh" dev
out=${HEADROOM_FUZZ_DIR:-$root/build/fuzz}
mkdir -p "$out/corpus"
cd "$root"

export out root
compile() {  # one source; ccache keeps what did not change
  ccache clang++ -std=c++20 -O1 -g -ffp-contract=off -D_GLIBCXX_ASSERTIONS \
    -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all \
    -DHEADROOM_SOURCE_DIR="\"$root\"" -I"$root" -c "$1" -o "$out/$(tr / . <<<"${1%.cpp}").o"
}
export -f compile
rm -f "$out"/*.o
printf '%s\0' workloads/traces/*.cpp sim/kernel/{check,digest}.cpp tests/fuzz/*.cpp |
  xargs -0 -n 1 -P "$(nproc)" bash -c 'compile "$0"'
clang++ -fsanitize=fuzzer,address,undefined -o "$out/trace_fuzzer" "$out"/*.o -lfmt -lz

exec "$out/trace_fuzzer" -max_total_time="$seconds" -max_len=16384 -timeout=20 \
  -dict=tests/fuzz/traces.dict -artifact_prefix="$out/" "${@:2}" \
  "$out/corpus" tests/fuzz/corpus/traces tests/data/traces
