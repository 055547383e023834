#!/usr/bin/env bash
# Builds the playground: a page with the simulator in it, as WebAssembly. Its folder works on any
# web server, and opened from a disk.
#   scripts/playground.sh [FOLDER]    into build/playground, or FOLDER; open index.html
# Needs what `scripts/setup.sh playground` installs; exits with 77 where Emscripten or the source of
# yaml-cpp is missing.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if [[ ${1:-} == -* || $# -gt 1 ]]; then
  echo 'usage: scripts/playground.sh [FOLDER]' >&2
  exit 2
fi
folder=$(realpath -m "${1:-$root/build/playground}")
built=$root/build/wasm
skip() {
  echo "playground.sh: skipped: $*" >&2
  exit 77
}
command -v emcc >/dev/null || skip 'no emcc (scripts/setup.sh playground)'
command -v node >/dev/null || skip 'no node (scripts/setup.sh playground)'
mkdir -p "$built"
# Debian keeps modules of node here, and node from elsewhere does not look there.
export NODE_PATH=${NODE_PATH:-/usr/share/nodejs}

# yaml-cpp is compiled for WebAssembly from its source, Debian's unless one is given.
yaml=${HEADROOM_YAML_CPP:-$built/yaml-cpp}
if [[ ! -e $yaml/include/yaml-cpp/yaml.h ]]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  mkdir -p "$work/sources" "$work/lists/partial"
  # Debian's own archives as this machine has them, for sources.
  for list in $(grep -ls debian-archive /etc/apt/sources.list.d/*.sources); do
    sed 's/^Types:.*/Types: deb-src/' "$list" >"$work/sources/$(basename "$list")"
  done
  sed -n 's/^deb \(.*debian.*\)/deb-src \1/p' /etc/apt/sources.list >"$work/sources/old.list" \
    2>/dev/null || true
  apt=(apt-get -qq -o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$work/sources"
    -o "Dir::State::Lists=$work/lists" -o APT::Sandbox::User=)
  (cd "$work" && "${apt[@]}" update && "${apt[@]}" source --download-only yaml-cpp) \
    >"$work/log" 2>&1 ||
    skip "the source of yaml-cpp cannot be had; HEADROOM_YAML_CPP names a folder with it"
  mkdir -p "$yaml"
  tar -xf "$work"/yaml-cpp_*.orig.tar.* -C "$yaml" --strip-components=1
fi

log=$built/log.txt
build() {
  emcmake cmake -S "$root" -B "$built" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_UNITY_BUILD=ON -DHEADROOM_WERROR=OFF "-DHEADROOM_YAML_CPP=$yaml" &&
    cmake --build "$built" -j "${HEADROOM_JOBS:-2}" --target headroom_core
}
if ! build >"$log" 2>&1; then
  grep -E 'error|FAILED' "$log" | head -n 20 >&2
  echo "playground.sh: the build failed; all of it is in $log" >&2
  exit 1
fi
rm -rf "$folder"
node "$root/playground/pack.mjs" "$root" "$built/bin" "$folder"
echo "Playground:  $folder/index.html"
