#!/usr/bin/env bash
# Runs clang-tidy on the .cpp files that changed (committed or not, new ones too).
#   scripts/tidy.sh [BASE]    since BASE; default: where this branch left origin/main, or, on
#                             origin/main itself, since the commit before
#   scripts/tidy.sh --all     every .cpp of the project
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
"$root/scripts/setup.sh" dev
cd "$root"

base=${1:-}
if [ -z "$base" ]; then
  base=$(git merge-base HEAD origin/main 2>/dev/null || true)
  if [ -z "$base" ] || [ "$base" = "$(git rev-parse HEAD)" ]; then
    base=$(git rev-parse --verify --quiet HEAD~1 || echo --all)  # the first commit: all is new
  fi
fi

if [ "$base" = --all ]; then
  list=$(git ls-files --cached --others --exclude-standard -- '*.cpp')
else
  git rev-parse --verify --quiet "$base^{commit}" >/dev/null || {
    echo "tidy.sh: no commit named '$base'" >&2
    exit 2
  }
  list=$(
    git diff --name-only --diff-filter=d "$base" -- '*.cpp'
    git ls-files --others --exclude-standard -- '*.cpp'
  )
fi

# Only what the build compiles: a file that no target names has no flags to check it with.
# The debug preset names each by itself; others compile a dozen files as one.
cmake --preset dev >/dev/null
database=build/dev/compile_commands.json
files=()
while read -r file; do
  if [ -n "$file" ] && [ -e "$file" ] && grep -qF "/$file\"" "$database"; then
    files+=("$file")
  fi
done < <(sort -u <<<"$list")

if [ ${#files[@]} -eq 0 ]; then
  echo "tidy.sh: no .cpp file changed since $base"
  exit 0
fi
echo "tidy.sh: checking ${#files[@]} files"
# The flags in the database are those of g++, some unknown to clang. On stderr clang-tidy counts
# what it then does not show: warnings of system headers.
printf '%s\0' "${files[@]}" |
  xargs -0 -n 1 -P "$(nproc)" clang-tidy -p build/dev --quiet \
    --extra-arg=-Wno-unknown-warning-option \
    2> >(grep -v ' warnings\? generated\.$' >&2)
echo "tidy.sh: clean"
