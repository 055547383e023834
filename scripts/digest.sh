#!/usr/bin/env bash
# Compares the digests of a set of runs between builds that must give the same bytes: g++ released,
# clang++ -O0, and released on a processor without FMA and AVX2 (masked through glibc).
#   scripts/digest.sh          those three
#   scripts/digest.sh --all    and g++ optimised across files, as the program is
set -euo pipefail

presets=(release clang-debug)
case ${1:-} in
  '') ;;
  --all) presets+=(bench) ;;
  *)
    echo "digest.sh: unknown option '$1': --all or nothing" >&2
    exit 2
    ;;
esac

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if [ ! -e "$root/tests/digest/CMakeLists.txt" ]; then
  echo "digest.sh: this version has no digest program (tests/digest); nothing compared"
  exit 0
fi
"$root/scripts/setup.sh" dev
cd "$root"
for preset in "${presets[@]}"; do
  cmake --preset "$preset" >/dev/null
  cmake --build --preset "$preset" --target headroom_digest
done

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
for preset in "${presets[@]}"; do
  "build/$preset/bin/headroom_digest" >"$out/$preset"
done
GLIBC_TUNABLES=glibc.cpu.hwcaps=-FMA,-AVX2 build/release/bin/headroom_digest >"$out/release-no-fma"

if [ ! -s "$out/release" ]; then
  echo "digest.sh: headroom_digest printed nothing" >&2
  exit 1
fi
failed=0
for other in "${presets[@]}" release-no-fma; do
  diff -u "$out/release" "$out/$other" || failed=1
done
if [ "$failed" -ne 0 ]; then
  echo "digest.sh: the builds disagree" >&2
  exit 1
fi
echo "digest.sh: $(wc -l <"$out/release") digests, equal in all builds"
