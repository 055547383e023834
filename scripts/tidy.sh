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

# Only what the build compiles: a file that no target names has no flags to check it with. The debug
# preset compiles each file by itself, clang-debug a dozen as one: that takes a tenth of the time,
# but a file that lacks an include passes, so it is for large changes.
most_single_files=60
preset=dev
if [ "$(wc -l <<<"$list")" -gt "$most_single_files" ]; then preset=clang-debug; fi
cmake --preset "$preset" >/dev/null
database=build/$preset/compile_commands.json

unit_of() { # the file that includes $1 among others, or $1
  local unit
  unit=$(grep -rlF --include='unity_*.cxx' "/$1\"" "build/$preset" | head -n 1)
  echo "${unit:-$1}"
}

count=0
units=()
while read -r file; do
  if [ -z "$file" ] || [ ! -e "$file" ]; then continue; fi
  unit=$(unit_of "$file")
  if ! grep -qF "/${unit#"$root/"}\"" "$database"; then continue; fi
  count=$((count + 1))
  units+=("$unit")
done < <(sort -u <<<"$list")

if [ "$count" -eq 0 ]; then
  echo "tidy.sh: no .cpp file changed since $base"
  exit 0
fi
echo "tidy.sh: checking $count files"
# A file that is included in a unit counts as its header. The flags in the database are those of
# g++ or clang++, some unknown to clang-tidy. On stderr it counts what it then does not show:
# warnings of system headers.
printf '%s\n' "${units[@]}" | sort -u | tr '\n' '\0' |
  xargs -0 -n 1 -P "$(nproc)" clang-tidy -p "build/$preset" --quiet \
    --checks=-bugprone-suspicious-include \
    --header-filter='(sim|scheduler|workloads|hardware|tests)/.*\.[ch]pp$' \
    --extra-arg=-Wno-unknown-warning-option --extra-arg=-Qunused-arguments \
    2> >(grep -v ' warnings\? generated\.$' >&2)
echo "tidy.sh: clean"
