#!/usr/bin/env bash
# Installs the Debian packages that are missing, and nothing when all are there (then it needs
# neither root nor a network).
#   scripts/setup.sh [program|test|dev]    for the program, also its tests (default), also tools
#   scripts/setup.sh playground            for the program as a page (scripts/playground.sh)
#   scripts/setup.sh release               for packages (scripts/release.sh)
set -euo pipefail

purpose=${1:-test}
case $purpose in
  program) wanted='program' ;;
  test) wanted='program test' ;;
  dev) wanted='program test dev' ;;
  playground) wanted='program playground' ;;
  release) wanted='program release' ;;
  *)
    echo "usage: scripts/setup.sh [program|test|dev|playground|release]" >&2
    exit 2
    ;;
esac

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
packages=()
while read -r package for_purpose; do
  case $package in '' | '#'*) continue ;; esac
  case " $wanted " in *" $for_purpose "*) packages+=("$package") ;; esac
done <"$root/scripts/packages.txt"

if ! command -v dpkg >/dev/null || ! command -v apt-get >/dev/null; then
  {
    echo "setup.sh: this is not a Debian system, so nothing was installed. Headroom needs g++ 12 or"
    echo "newer (or clang++ 14), CMake 3.25, and what these Debian 12 packages hold:"
    printf '  %s\n' "${packages[@]}"
    echo "Once they are installed: cmake --preset program && cmake --build --preset program"
  } >&2
  exit 1
fi

missing=()
for package in "${packages[@]}"; do
  dpkg -s "$package" 2>/dev/null | grep -q '^Status: install ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  exit 0
fi

echo "setup.sh: installing ${missing[*]}"
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "setup.sh: neither root nor sudo; run as root: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
export DEBIAN_FRONTEND=noninteractive
if ! { "${as_root[@]}" apt-get update -qq &&
  "${as_root[@]}" apt-get install -y --no-install-recommends "${missing[@]}"; }; then
  echo "setup.sh: apt-get failed. Headroom is built on Debian 12 (bookworm); other releases may" >&2
  echo "name these packages differently: ${missing[*]}" >&2
  exit 1
fi
