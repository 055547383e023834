#!/usr/bin/env bash
# scripts/release.sh leaves a whole folder or nothing, and a list of parts says what is really in a
# build. The parts that take minutes check themselves when a release is made.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
if ! git -C "$HEADROOM_SOURCE_DIR" rev-parse HEAD >/dev/null 2>&1; then
  echo 'skipped: no git checkout'
  exit 77
fi

git clone --quiet --depth 1 "file://$HEADROOM_SOURCE_DIR" copy
# fails CODE TEXT ARGUMENT...: the script of the copy.
fails() {
  local code=0
  copy/scripts/release.sh "${@:3}" >stdout.txt 2>stderr.txt || code=$?
  [[ $code == "$1" ]] || fail "exit code $code instead of $1: ${*:3}: $(cat stderr.txt)"
  grep -qF -- "$2" stderr.txt || fail "'$2' is not in: $(cat stderr.txt)"
  [[ -z $(find . -maxdepth 1 -name '*.partial-*') ]] || fail 'a partial folder is left'
}
fails 2 'parts: source static deb wheel container'
fails 2 'usage: ' --only source
fails 2 'usage: ' --only tarball made
fails 2 'usage: ' made --only
mkdir made
fails 1 'made exists already' --only source made
rmdir made

copy/scripts/release.sh --only source made >log.txt 2>&1 || fail "$(cat log.txt)"
version=$("$HEADROOM" --version | cut -d ' ' -f 2)
[[ $(ls made) == "SHA256SUMS"$'\n'"headroom-$version.tar.gz" ]] || fail "made: $(ls made)"
(cd made && sha256sum --quiet -c SHA256SUMS)
tar -tzf "made/headroom-$version.tar.gz" >files.txt
grep -q "^headroom-$version/CMakeLists.txt$" files.txt ||
  fail 'the source tarball has no CMakeLists.txt'

sed -i 's/VERSION [0-9.]* LANGUAGES/VERSION 9.9.9 LANGUAGES/' copy/CMakeLists.txt
fails 1 'CMakeLists.txt has version 9.9.9' --only source again
[[ ! -e again ]] || fail 'a folder is left of a release that failed'

# --- lists of parts ---

if ! command -v dpkg-query >/dev/null || [[ ! -e $HEADROOM_BUILD_DIR/.ninja_deps ]]; then
  exit 0
fi
export SOURCE_DATE_EPOCH=1700000000
sbom() { python3 -B "$HEADROOM_SOURCE_DIR/scripts/release/sbom.py" "$@"; }
for copy in one two; do
  sbom name 1.2.3 "$HEADROOM" --build "$HEADROOM_BUILD_DIR" headroom_app \
    --notices notices.txt >"$copy.json"
done
cmp one.json two.json || fail 'two lists of one program differ'
boost=$(dpkg-query -W -f '${Version}' libboost1.74-dev)
python3 - "$HEADROOM" "$boost" <<'PY' || fail 'what the list says'
import hashlib
import json
import sys
made = json.load(open("one.json"))
parts = {one["name"]: one for one in made["packages"]}
digest = hashlib.sha256(open(sys.argv[1], "rb").read()).hexdigest()
assert parts["headroom"]["checksums"][0]["checksumValue"] == digest
assert parts["libboost1.74-dev"]["versionInfo"] == sys.argv[2]
assert parts["libboost1.74-dev"]["licenseDeclared"] == "BSL-1.0"
assert parts["echarts"]["versionInfo"] and parts["aiconfigurator-kernel-times"]["versionInfo"]
assert made["creationInfo"]["created"] == "2023-11-14T22:13:20Z"
related = {one["relatedSpdxElement"] for one in made["relationships"]}
assert related == {one["SPDXID"] for one in made["packages"]}
PY
grep -q '^nlohmann-json3-dev .*MIT' notices.txt || fail 'no notice of nlohmann_json'
! grep -q 'Boost Software License' notices.txt || fail 'a notice that programs need not have'

# What no package owns, and what no licence is known of, is an error.
# (Files of the source tree, where a build folder may lie, are the project's own.)
elsewhere=$(mktemp -d)
trap 'rm -rf "$elsewhere"' EXIT
touch "$elsewhere/mine.a"
printf '%s(a.o)\n' "$elsewhere/mine.a" >map
# refused TEXT OPTION...
refused() {
  if sbom name 1.2.3 "$HEADROOM" "${@:2}" >/dev/null 2>error.txt; then fail "listed: ${*:2}"; fi
  grep -q "$1" error.txt || fail "$(cat error.txt)"
}
refused 'no package owns .*mine.a' --map map
refused 'no licence is known of bash' --library /bin/bash
