#!/usr/bin/env bash
# Debian packages of the program, the library and its development files, with what they depend on.
# They are installed on a bare Debian 12 and used there.
#   HEADROOM_MAINTAINER    who answers for the packages, "Name <address>"; by default whoever wrote
#                          the commit
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
needs cpack dpkg-deb dpkg-shlibdeps

export HEADROOM_MAINTAINER=${HEADROOM_MAINTAINER:-$(git log -1 --format='%an <%ae>')}
address='^[^<>]+ <[^<>@ ]+@[^<>@ ]+>$'
[[ $HEADROOM_MAINTAINER =~ $address ]] ||
  fail "HEADROOM_MAINTAINER=$HEADROOM_MAINTAINER: expected Name <address>"

build program
build packages
work=$RELEASE_WORK/deb
mkdir -p "$work"
{
  echo 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/'
  printf '\nFiles: *\nCopyright: Headroom maintainers\nLicense: Apache-2.0\n'
  printf '\nFiles: kernel times inside the program\n'
  printf 'Copyright: 2025-2026 NVIDIA CORPORATION & AFFILIATES\nLicense: Apache-2.0\nComment:\n'
  # An empty line would end the paragraph.
  sed 's/^$/./; s/^/ /' hardware/catalog/kernels/NOTICE
  printf '\nFiles: charts inside the program\n'
  printf 'Copyright: 2017-2026 The Apache Software Foundation\n'
  printf 'License: Apache-2.0\n On Debian systems, the license is in %s.\n' \
    /usr/share/common-licenses/Apache-2.0
} >"$work/copyright"
{
  printf 'headroom (%s) unstable; urgency=medium\n\n' "$version"
  echo '  * See CHANGELOG.md of the source.'
  printf '\n -- %s  %s\n' "$HEADROOM_MAINTAINER" "$(date -R -u -d "@$SOURCE_DATE_EPOCH")"
} >"$work/changelog"
echo 'activate-noawait ldconfig' >"$work/triggers"
HEADROOM_VERSION=$version HEADROOM_WORK=$work cpack -G DEB \
  --config cmake/DebianPackages.cmake >"$work/log" 2>&1 || fail "$(cat "$work/log")"
packages=("$work"/*.deb)
[[ ${#packages[@]} == 3 ]] || fail "three packages expected: ${packages[*]}"
for package in "${packages[@]}"; do
  echo "$(basename "$package"): $(stat -c %s "$package") bytes," \
    "depends on: $(dpkg-deb -f "$package" Depends)"
done
if command -v lintian >/dev/null; then
  # In an archive, not here: the bug that announces a package, and a symbols file per release.
  lintian --fail-on error --suppress-tags initial-upload-closes-no-bugs,no-symbols-control-file \
    "${packages[@]}" || fail 'lintian finds errors in the packages'
else
  echo 'release.sh: the packages are not checked by lintian, which is not here'
fi
cp "${packages[@]}" "$RELEASE_OUT"

bare bookworm deb
[[ -n $bare ]] || exit 0
cp "${packages[@]}" "$bare/tmp"
cp docs/library.md "$bare/tmp"
cp /etc/resolv.conf "$bare/etc/resolv.conf"
echo 'hosts: files dns' >"$bare/etc/nsswitch.conf"
in_bare env DEBIAN_FRONTEND=noninteractive sh -euc '
  apt-get -qq update
  apt-get -qq install --no-install-recommends -y /tmp/headroom_*.deb >/dev/null 2>&1
  test -s /usr/share/man/man1/headroom.1.gz
  test -s /usr/share/bash-completion/completions/headroom' ||
  fail 'the program cannot be installed on a bare Debian 12'
[[ $(digest_of in_bare headroom) == "$(expected_digest)" ]] || fail 'other results when installed'
in_bare env DEBIAN_FRONTEND=noninteractive sh -euc '
  apt-get -qq install --no-install-recommends -y /tmp/libheadroom*.deb g++ >/dev/null 2>&1
  cd /tmp
  sed -n "/^\`\`\`cpp$/,/^\`\`\`$/{/^\`\`\`/!p}" library.md >page.cpp
  g++ -std=c++20 page.cpp -lheadroom -o page
  ./page >page.txt
  headroom run demo --set engine.max_num_seqs=64 --json >program.json' ||
  fail 'the packages cannot be installed and used on a bare Debian 12'
tail -n +2 "$bare/tmp/page.txt" | cmp - "$bare/tmp/program.json" ||
  fail 'the installed library has other results than the program'
in_bare env DEBIAN_FRONTEND=noninteractive apt-get -qq purge -y headroom >/dev/null 2>&1
[[ ! -e $bare/usr/bin/headroom && ! -e $bare/usr/share/headroom ]] ||
  fail 'purging the package leaves files behind'
echo 'deb: installed, used and purged on a bare bookworm'
