#!/usr/bin/env bash
# The source of the commit that is checked out, as a tarball. Made twice, it is the same file.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
needs git gzip

name=headroom-$version
file=$RELEASE_OUT/$name.tar.gz
for copy in "$file" "$RELEASE_WORK/again.tar.gz"; do
  git archive --format=tar --prefix="$name/" HEAD | gzip -9n >"$copy"
done
cmp "$file" "$RELEASE_WORK/again.tar.gz" || fail 'two source tarballs of one commit differ'
[[ -z $(git status --porcelain) ]] ||
  echo 'release.sh: the source tarball is that of the last commit, without the changes since'

tar -xzf "$file" -C "$RELEASE_WORK"
[[ $(find "$RELEASE_WORK/$name" -type f -o -type l | wc -l) == "$(git ls-files | wc -l)" ]] ||
  fail 'the source tarball does not hold what git does'
cmake -S "$RELEASE_WORK/$name" --preset program -B "$RELEASE_WORK/configured" >/dev/null ||
  fail 'the source tarball cannot be configured'
