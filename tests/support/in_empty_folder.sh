#!/usr/bin/env bash
# in_empty_folder.sh SCRIPT FOLDER: runs SCRIPT in FOLDER, emptied first. ctest's WORKING_DIRECTORY
# must exist beforehand and would keep the files of the run before.
set -euo pipefail
rm -rf "$2"
mkdir -p "$2"
cd "$2"
exec bash "$1"
