#!/usr/bin/env bash
# Programs that need nothing of the machine they run on, for x86-64 and aarch64: each in a tarball
# with its man page, completions and scenarios, and beside it the list of its parts (SPDX).
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
needs ninja dpkg-query file readelf

# packaged ARCHITECTURE SBOM_OPTION...: tarball and list of parts of the build in `built`; sets
# `program`.
packaged() {
  local name=headroom-$version-linux-$1
  local folder=$RELEASE_WORK/$name
  program=$folder/bin/headroom
  # What is not compiled is written by the program for this machine.
  cmake --install build/static --prefix "$folder" --component program >/dev/null
  "$strip" -o "$program" "$built/bin/headroom"
  local parts=("$name" "$version" "$RELEASE_OUT/$name.tar.gz" --build "$built" headroom_app
    --map "$built/bin/headroom_app.map" "${@:2}")
  # Once for the texts that travel in the tarball, once with the tarball's checksum.
  : >"$RELEASE_OUT/$name.tar.gz"
  scripts/release/sbom.py --notices "$folder/share/doc/headroom/THIRD-PARTY" "${parts[@]}" \
    >/dev/null
  packed "$folder" "$RELEASE_OUT/$name.tar.gz"
  scripts/release/sbom.py "${parts[@]}" >"$RELEASE_OUT/$name.spdx.json"
  scripts/release/check_sbom.sh "$RELEASE_OUT/$name.spdx.json"
  file -b "$program" | grep -q 'static-pie linked' || fail "$program: $(file -b "$program")"
  # The linker would have refused an undefined symbol; this is about ones looked up when it starts.
  if readelf -d "$program" | grep NEEDED; then fail "$program needs a library"; fi
  echo "$name: program $(stat -c %s "$program") bytes, tarball" \
    "$(stat -c %s "$RELEASE_OUT/$name.tar.gz") bytes; needs no library"
}

build_static x86_64
packaged x86_64
[[ $(digest_of "$program") == "$(expected_digest)" ]] ||
  fail 'the static program has other results than the tests expect'
scripts/release/check_static.sh "$program"
build/static/bin/headroom_digest >"$RELEASE_WORK/digests"

build_static aarch64 || exit 0
packaged aarch64 --arm64 build/arm64
[[ $(digest_of qemu-aarch64-static "$program") == "$(expected_digest)" ]] ||
  fail 'the program for aarch64 has other results than the tests expect'
qemu-aarch64-static build/static-aarch64/bin/headroom_digest |
  diff "$RELEASE_WORK/digests" - || fail 'x86-64 and aarch64 have other results'
echo "aarch64 under qemu: $(wc -l <"$RELEASE_WORK/digests") digests as on x86-64"
