#!/usr/bin/env bash
# Builds the program and runs scenarios/demo.json; the results go to results/demo in the folder from
# which this was called. Options go to `headroom run`.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
"$root/scripts/setup.sh" program
(
  cd "$root"
  cmake --preset program >/dev/null
  cmake --build --preset program
)

out=results/demo
"$root/build/program/bin/headroom" run "$root/scenarios/demo.json" -o "$out" "$@"
echo
echo "Results:  $(cd "$out" && pwd)"
echo "Program:  $root/build/program/bin/headroom  (try --help)"
