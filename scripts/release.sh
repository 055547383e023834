#!/usr/bin/env bash
# Makes what a release consists of, and checks each result in a bare Debian root.
#   scripts/release.sh [--only PART...] FOLDER      FOLDER must not exist
# Parts (all of them unless --only names some):
#   source     the source as a tarball
#   static     static programs for x86-64 and aarch64, each in a tarball, with their lists of parts
#   deb        Debian packages: program, library, development files
#   wheel      Python wheels, with their list of parts
#   container  an image of the static program, as an OCI archive
# A part that this machine lacks something for is skipped with a message (scripts/setup.sh release
# installs what Debian has). Nothing but a whole FOLDER is left behind.
set -euo pipefail

caller=$PWD
source "$(dirname "${BASH_SOURCE[0]}")/release/lib.sh"  # goes to the root of the repository
usage() {
  echo 'usage: scripts/release.sh [--only PART...] FOLDER' >&2
  echo "parts: ${all_parts[*]}" >&2
  exit 2
}

all_parts=(source static deb wheel container)
arguments=("$@")
parts=("${all_parts[@]}")
if [[ ${1:-} == --only ]]; then
  parts=("${@:2:$#-2}")
  [[ ${#parts[@]} -gt 0 ]] || usage
elif [[ $# != 1 ]]; then
  usage
fi
[[ ${#arguments[@]} -gt 0 && ${arguments[-1]} != -* ]] || usage
for part in "${parts[@]}"; do
  [[ " ${all_parts[*]} " == *" $part "* ]] || usage
done
folder=$(cd "$caller" && realpath -m "${arguments[-1]}")
[[ ! -e $folder ]] || fail "$folder exists already"

# Beside the result, so that moving it there is one step.
mkdir -p "$(dirname "$folder")"
export RELEASE_OUT=$folder.partial-$$ RELEASE_WORK
RELEASE_WORK=$(mktemp -d)
trap 'rm -rf "$RELEASE_OUT" "$RELEASE_WORK"' EXIT
mkdir "$RELEASE_OUT"

check_changelog
"$root/scripts/setup.sh" program
skipped=()
for part in "${parts[@]}"; do
  printf '\n=== %s (%d s)\n' "$part" "$SECONDS"
  code=0
  "$root/scripts/release/$part.sh" || code=$?
  case $code in
    0) ;;
    77) skipped+=("$part") ;;
    *) fail "$part failed; nothing is left behind" ;;
  esac
done

cd "$RELEASE_OUT"
shopt -s nullglob
files=(*)
[[ ${#files[@]} -gt 0 ]] || fail 'every part was skipped'
sha256sum "${files[@]}" >"$RELEASE_WORK/SHA256SUMS"
mv "$RELEASE_WORK/SHA256SUMS" .
sha256sum --quiet -c SHA256SUMS
cd "$root"
mv "$RELEASE_OUT" "$folder"

printf '\n=== %s %s (%d s)\n' "$folder" "$version" "$SECONDS"
(cd "$folder" && du -b -- * | awk '{printf "%10.2f MB  %s\n", $1 / 1e6, $2}')
[[ ${#skipped[@]} == 0 ]] || echo "release.sh: skipped: ${skipped[*]}"
