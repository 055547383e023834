#!/usr/bin/env bash
# Unpacks Debian's arm64 libraries into a folder, for cmake/aarch64.cmake. Nothing is installed: apt
# only downloads, with lists of its own.
#   scripts/release/arm64_libraries.sh FOLDER
set -euo pipefail

folder=$(realpath -m "${1:?usage: scripts/release/arm64_libraries.sh FOLDER}")
# What scripts/packages.txt names for the program and is compiled against; and the C library.
packages=(libboost1.74-dev libcli11-dev libeigen3-dev libfmt-dev libpcre2-dev
  libsqlite3-dev libssl-dev libutf8proc-dev libyaml-cpp-dev nlohmann-json3-dev zlib1g-dev libc6-dev)
if [[ -f $folder/packages.txt ]]; then
  exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{state/lists/partial,cache/archives/partial,debs,root}
suite=bookworm
triplet=aarch64-linux-gnu
keys=/usr/share/keyrings/debian-archive-keyring.gpg
cat >"$work/sources.list" <<LIST
deb [signed-by=$keys] http://deb.debian.org/debian $suite main
deb [signed-by=$keys] http://deb.debian.org/debian $suite-updates main
deb [signed-by=$keys] http://deb.debian.org/debian-security $suite-security main
LIST
apt=(apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64
  -o APT::Sandbox::User=root -o "Dir::State=$work/state" -o "Dir::Cache=$work/cache"
  -o Dir::State::status=/dev/null -o "Dir::Etc::SourceList=$work/sources.list"
  -o Dir::Etc::SourceParts=-)
"${apt[@]}" update
(cd "$work/debs" && "${apt[@]}" download "${packages[@]}")

for deb in "$work"/debs/*.deb; do
  name=$(dpkg-deb -f "$deb" Package)
  # Of the C library, what static programs hold: headers come with the compiler, and two sets of
  # them would not fit together; libc.so is a script with absolute paths.
  only=()
  [[ $name != libc6-dev ]] || only=(--wildcards './usr/lib/*.[ao]' './usr/share/doc/*')
  dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$work/root" "${only[@]}"
  # For the list of what a program is made of (scripts/release/sbom.py): package, version, files.
  dpkg-deb --fsys-tarfile "$deb" | tar -t | grep -v '/$' |
    sed "s|^\.|$name $(dpkg-deb -f "$deb" Version) |; s|/usr/include/$triplet/|/usr/include/|"
done >"$work/packages.txt"
# The compiler looks for headers of one architecture in its own folders alone.
cp -a "$work/root/usr/include/$triplet/." "$work/root/usr/include"
rm -r "$work/root/usr/include/$triplet"
mv "$work/packages.txt" "$work/root/packages.txt"
mkdir -p "$(dirname "$folder")"
rm -rf "$folder"
mv "$work/root" "$folder"
