#!/usr/bin/env bash
# Python wheels for any Linux with glibc 2.27 or newer, and the lists of their parts: one for each
# of Python 3.9 to 3.11 that is here, and where there is a 3.12 or newer one for all of these
# (stable ABI). Each is installed into a new virtual environment, and on a bare Debian whose Python
# it is for.
#   RELEASE_PYTHONS    interpreters to use instead of those found: on the path and of pyenv
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
needs objdump unzip python3 advzip
limit_bytes=12000000
oldest_glibc=2.27

# works PYTHON CONDITION
works() {
  "$1" -c "import sys, venv; sys.exit(not ($2))" 2>/dev/null
}
# tag_of PYTHON: of the wheel for it.
tag_of() {
  "$1" -c 'import sys; print("cp3%d" % min(sys.version_info[1], 12))'
}
pythons=()
read -ra given <<<"${RELEASE_PYTHONS:-}"
if [[ ${#given[@]} -gt 0 ]]; then
  pythons=("${given[@]}")
else
  # One of each tag; of those for the stable ABI the oldest, with the headers of which it is built.
  declare -A found=()
  for python in /usr/bin/python3 python3.{9..14} \
    "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.{9,10,11,12,13,14}.*/bin/python3; do
    works "$python" 'sys.version_info >= (3, 9)' || continue
    tag=$(tag_of "$python")
    [[ -z ${found[$tag]:-} ]] || continue
    found[$tag]=$python
    pythons+=("$python")
  done
fi
[[ ${#pythons[@]} -gt 0 ]] || skip 'no Python 3.9 or newer with venv here'

code=0
scripts/python.sh --wheels "$RELEASE_WORK/wheels" "${pythons[@]}" || code=$?
[[ $code == 0 ]] || exit "$code"

# described WHEEL: what it needs, and the list of its parts.
described() {
  local wheel=$1 folder name build glibc
  name=$(basename "$wheel" .whl)
  folder=$RELEASE_WORK/unpacked/$name
  mkdir -p "$folder"
  unzip -q "$wheel" -d "$folder"
  glibc=$(newest_glibc "$folder"/headroom/_core*.so)
  echo "$name: $(stat -c %s "$wheel") bytes, needs $glibc"
  [[ $(stat -c %s "$wheel") -lt $limit_bytes ]] || fail "$wheel: more than $limit_bytes bytes"
  [[ $(printf '%s\n' "$glibc" "GLIBC_$oldest_glibc" | sort -V | tail -n 1) == \
    "GLIBC_$oldest_glibc" ]] || fail "$wheel needs $glibc"
  [[ ! -e $folder/headroom.libs ]] || fail "$wheel holds shared libraries: $folder/headroom.libs"
  [[ -s $folder/headroom/THIRD-PARTY ]] || fail "$wheel does not name the libraries it holds"
  build=$(build_of "$name")
  cp "$wheel" "$RELEASE_OUT"
  scripts/release/sbom.py --build "$build" _core --map "$build/bin/_core.map" --nanobind \
    "$(sed -n 's/^HEADROOM_NANOBIND_VERSION:INTERNAL=//p' "$build/CMakeCache.txt")" \
    "$name" "$version" "$wheel" >"$RELEASE_OUT/$name.spdx.json"
  scripts/release/check_sbom.sh "$RELEASE_OUT/$name.spdx.json"
}
# build_of NAME: the build folder of scripts/python.sh, which has the tag that auditwheel changed.
build_of() {
  local tag=${1#headroom-"$version"-}
  echo "build/wheel/${tag%%-manylinux*}-linux_x86_64"
}

# used_in_venv PYTHON WHEEL: from PyPI's NumPy and nothing of this checkout.
used_in_venv() {
  local venv=$RELEASE_WORK/venv
  rm -rf "$venv"
  "$1" -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "$2"
  [[ $(cd "$RELEASE_WORK" && digest_of "$venv/bin/headroom") == "$(expected_digest)" ]] ||
    fail "$2: other results in a new virtual environment"
  echo "$(basename "$2"): works in a new environment of $("$1" --version)"
}

# used_on_bare SUITE WHEEL: with the package's own tests, on Debian's Python and NumPy.
used_on_bare() {
  bare "$1" wheel
  [[ -n $bare ]] || return 0
  cp /etc/resolv.conf "$bare/etc/resolv.conf"
  echo 'hosts: files dns' >"$bare/etc/nsswitch.conf"
  mkdir "$bare/source"
  git archive HEAD python/tests docs scenarios tests/golden/expected | tar -x -C "$bare/source"
  cp "$2" "$bare/tmp"
  in_bare env DEBIAN_FRONTEND=noninteractive "WHEEL=/tmp/$(basename "$2")" sh -euc '
    apt-get -qq update
    apt-get -qq install --no-install-recommends -y python3-venv python3-pandas python3-yaml \
      >/dev/null 2>&1
    python3 -m venv --system-site-packages /venv
    /venv/bin/pip install --quiet --no-index --no-deps "$WHEEL"
    cd /tmp
    HEADROOM_SOURCE_DIR=/source /venv/bin/python -m unittest discover -s /source/python/tests' ||
    fail "$2 does not work on a bare $1"
  [[ $(digest_of in_bare /venv/bin/headroom) == "$(expected_digest)" ]] ||
    fail "$2: other results on a bare $1"
  echo "$(basename "$2"): package tests and demo pass on a bare $1," \
    "glibc $(glibc_of_bare), $(in_bare python3 --version)"
}

shopt -s nullglob
for python in "${pythons[@]}"; do
  tag=$(tag_of "$python")
  for wheel in "$RELEASE_WORK"/wheels/*-"$tag"-*.whl; do
    advzip --quiet --recompress --shrink-extra "$wheel"  # 3 % less; what is in it stays
    described "$wheel"
    used_in_venv "$python" "$wheel"
    case $tag in
      cp39) used_on_bare bullseye "$wheel" ;;
      cp311) used_on_bare bookworm "$wheel" ;;
      cp312) used_on_bare trixie "$wheel" ;;
    esac
  done
done
