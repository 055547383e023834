#!/usr/bin/env bash
# What a run costs in Python and in C++, in turn. Not a test: times depend on the machine.
#   scripts/python_cost.sh [WHEEL]    of the checkout, unless a wheel is given
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
package=${1:-$root}
[[ $# -eq 0 ]] || package=$(realpath "$1")
"$root/scripts/setup.sh" program
cd "$root"
cmake --preset library >/dev/null
cmake --build --preset library >/dev/null

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install build/library --prefix "$work/prefix" >/dev/null
# The other programs there are not built.
cmake -G Ninja -S tests/library -B "$work/example" -DCMAKE_PREFIX_PATH="$work/prefix" \
  -DCMAKE_BUILD_TYPE=Release -DPAGE=cost.cpp -DQUESTIONS=cost.cpp >/dev/null
cmake --build "$work/example" --target example_cost >/dev/null

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "$package"
cd "$work"
HEADROOM_SOURCE_DIR=$root "$work/venv/bin/python" "$root/python/tests/measure.py" \
  --cost "$work/example/example_cost"
