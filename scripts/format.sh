#!/usr/bin/env bash
# Formats every C++ file with clang-format.
#   scripts/format.sh            in place
#   scripts/format.sh --check    changes nothing; fails and names the lines that differ
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
case ${1:-} in
  '') mode=(-i) ;;
  --check) mode=(--dry-run -Werror) ;;
  *)
    echo "usage: scripts/format.sh [--check]" >&2
    exit 2
    ;;
esac
"$root/scripts/setup.sh" dev
cd "$root"
files=()
while IFS= read -r -d '' file; do
  if [ -e "$file" ]; then files+=("$file"); fi  # git also lists what was just deleted
done < <(git ls-files -z --cached --others --exclude-standard -- '*.cpp' '*.hpp')
if [ ${#files[@]} -gt 0 ]; then
  clang-format "${mode[@]}" "${files[@]}"
fi
