#!/usr/bin/env bash
# Compares the digests of a set of runs between builds that must give the same bytes: g++ released,
# the same optimised across files (as the program is), clang++ -O0, and released on a processor
# without FMA and AVX2 (masked through glibc).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if [ ! -e "$root/tests/digest/CMakeLists.txt" ]; then
  echo "digest.sh: this version has no digest program (tests/digest); nothing compared"
  exit 0
fi
"$root/scripts/setup.sh" dev
cd "$root"
for preset in release bench clang-debug; do
  cmake --preset "$preset" >/dev/null
  cmake --build --preset "$preset" --target headroom_digest
done

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
build/release/bin/headroom_digest >"$out/gcc-release"
build/bench/bin/headroom_digest >"$out/gcc-across-files"
build/clang-debug/bin/headroom_digest >"$out/clang-O0"
GLIBC_TUNABLES=glibc.cpu.hwcaps=-FMA,-AVX2 build/release/bin/headroom_digest >"$out/gcc-no-fma"

if [ ! -s "$out/gcc-release" ]; then
  echo "digest.sh: headroom_digest printed nothing" >&2
  exit 1
fi
failed=0
for other in gcc-across-files clang-O0 gcc-no-fma; do
  diff -u "$out/gcc-release" "$out/$other" || failed=1
done
if [ "$failed" -ne 0 ]; then
  echo "digest.sh: the builds disagree" >&2
  exit 1
fi
echo "digest.sh: $(wc -l <"$out/gcc-release") digests, equal in all builds"
