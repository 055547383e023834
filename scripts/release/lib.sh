# shellcheck shell=bash disable=SC2034
# What the parts of scripts/release.sh share. RELEASE_OUT: the folder for results; RELEASE_WORK: a
# temporary folder that release.sh removes.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"
version=$(sed -n 's/^project(headroom VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)
# Files in packages are as old as the commit, so that equal sources make equal packages.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

fail() {
  echo "release.sh: $*" >&2
  exit 1
}
# skip REASON: this machine cannot make this part.
skip() {
  echo "release.sh: skipped: $*"
  exit 77
}
# needs COMMAND...: skips this part where one of them is missing.
needs() {
  local one
  for one in "$@"; do
    command -v "$one" >/dev/null || skip "no $one here (scripts/setup.sh release)"
  done
}

# The newest entry of CHANGELOG.md is this version.
check_changelog() {
  local newest
  newest=$(sed -n '/^## /{s///p;q}' CHANGELOG.md)
  [[ ${newest%% *} == "$version" ]] ||
    fail "CHANGELOG.md begins with '$newest', CMakeLists.txt has version $version"
  [[ $newest != *'not released'* ]] ||
    echo "release.sh: CHANGELOG.md says '$newest', so this is a trial"
}

# build PRESET: configures and builds it.
build() {
  cmake --preset "$1" >/dev/null
  cmake --build --preset "$1" -- -j "$(nproc)"
}

# build_static ARCHITECTURE: sets `built` to the build's folder and `strip` to what strips programs
# in it; fails where this machine cannot build or run programs for that architecture.
build_static() {
  local command
  built=build/static strip=strip
  if [[ $1 == aarch64 ]]; then
    built=build/static-aarch64 strip=aarch64-linux-gnu-strip
    for command in aarch64-linux-gnu-g++ qemu-aarch64-static; do
      if ! command -v "$command" >/dev/null; then
        echo "release.sh: nothing for aarch64: no $command here (scripts/setup.sh release)"
        return 1
      fi
    done
    scripts/release/arm64_libraries.sh build/arm64
  fi
  build "$(basename "$built")"
}

# packed FOLDER FILE.tar.gz: the same bytes for the same files.
packed() {
  tar -C "$(dirname "$1")" --sort=name --owner=0 --group=0 --numeric-owner --format=gnu \
    --mode=go=rX,u+rw,a-s --mtime="@$SOURCE_DATE_EPOCH" -cf - "$(basename "$1")" | gzip -9n >"$2"
}

# bare SUITE NAME: sets `bare` to a fresh root with nothing but Debian's minimal system, or to
# nothing where this machine cannot make one. It is a copy of build/roots/SUITE, which is kept.
bare() {
  local kept=build/roots/$1
  bare=
  if [[ $(id -u) != 0 ]] || ! command -v mmdebstrap >/dev/null; then
    echo "release.sh: not checked on a bare Debian ($1): that needs root and mmdebstrap"
    return
  fi
  if [[ ! -d $kept ]]; then
    rm -rf "$kept.partial"
    mkdir -p "$kept.partial"
    if ! mmdebstrap --quiet --variant=minbase "$1" "$kept.partial" 2>"$RELEASE_WORK/log"; then
      cat "$RELEASE_WORK/log" >&2
      echo "release.sh: not checked on a bare Debian ($1): no root of it could be made"
      return
    fi
    mv "$kept.partial" "$kept"
  fi
  bare=$RELEASE_WORK/roots/$2-$1
  mkdir -p "$RELEASE_WORK/roots"
  cp -a "$kept" "$bare"
  # Looks up names as a desktop does, where plugins come first.
  echo 'hosts: files mymachines resolve mdns4_minimal [NOTFOUND=return] dns' \
    >"$bare/etc/nsswitch.conf"
  echo '127.0.0.1 localhost' >"$bare/etc/hosts"
}
# in_bare COMMAND...: runs it in that root, with nothing of this machine's environment.
in_bare() {
  # shellcheck disable=SC2016  # for the inner shell
  unshare --mount bash -c 'mount -t proc proc "$0/proc"
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LC_ALL=C.UTF-8 chroot "$0" "$@"' \
    "$bare" "$@"
}

glibc_of_bare() {
  in_bare ldd --version | sed -n '1s/.* //p'
}

# digest_of COMMAND...: the digest of a run of the demo by that program.
digest_of() {
  "$@" run demo --json | sed -n 's/^  "digest": "\(.*\)",*/\1/p'
}
# The digest of the same run that the tests hold.
expected_digest() {
  sed -n 's/^digest //p' tests/golden/expected/chat-vllm.txt
}

# newest_glibc FILE...: the newest version of a symbol of the C library that one of them needs.
newest_glibc() {
  for file in "$@"; do objdump -T "$file"; done | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1
}
