#!/usr/bin/env bash
# docs/arena.md: simulators on the same measured points (tests/arena).
#
#   scripts/arena.sh             the page from tests/arena/data
#   scripts/arena.sh --check     fails if the page is not what the data gives
#   scripts/arena.sh --run       predicts again first: installs the others from PyPI in a folder
#                                outside of the source, and skips what cannot be had
#
# HEADROOM: the program (build/release/bin/headroom). HEADROOM_GROUNDTRUTH: the measured data sets
# (docs/fidelity.md; ../shared/groundtruth). HEADROOM_ARENA: the folder (about 2 GB, most of it
# tables of kernels). BLIS: its program, if you have built it, in its source tree. ARENA_EVERY: ask
# the slow ones every so many points only (1).
set -euo pipefail
source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
arena=$source_dir/tests/arena
case ${1:-} in
  '') exec python3 -B "$arena/page.py" ;;
  --check) exec python3 -B "$arena/page.py" --check ;;
  --run) ;;
  *) echo "arena.sh: unknown option $1 (--check, --run)" >&2; exit 2 ;;
esac

data=$arena/data
folder=${HEADROOM_ARENA:-$HOME/.cache/headroom/arena}
truth=${HEADROOM_GROUNDTRUTH:-$source_dir/../shared/groundtruth}
headroom=${HEADROOM:-$source_dir/build/release/bin/headroom}
every=${ARENA_EVERY:-1}
[[ -x $headroom ]] || { echo "arena.sh: build the program first, or set HEADROOM" >&2; exit 2; }
if [[ ! -d $truth/aiconfigurator_silicon ]]; then
  echo "skipped: no measured data sets in $truth (HEADROOM_GROUNDTRUTH)"
  exit 0
fi
mkdir -p "$folder"
python3 -B "$arena/points.py" "$headroom" "$truth" "$data"
awk -v every="$every" 'NR == 1 || (NR - 2) % every == 0' "$data/points.csv" >"$folder/some.csv"

# ask NAME PACKAGE POINTS: in a virtual environment of its own.
ask() {
  local name=$1 package=$2 points=$3 env=$folder/${2%%==*}
  if [[ ! -x $env/bin/python ]]; then
    local python
    python=$(for p in python3.12 python3.13 python3.11 python3; do command -v $p && break; done)
    "$python" -m venv "$env"
  fi
  if ! "$env/bin/pip" install -q "$package"; then
    echo "skipped: $package cannot be installed; what it predicted before stays"
    return
  fi
  PYTHONPATH=$arena "$env/bin/python" -B "$arena/with_$name.py" "$points" "$folder/$name.csv"
  mv "$folder/$name.csv" "$data/$name.csv"
}

ask aiconfigurator aiconfigurator==0.12.0 "$data/points.csv"
ask servcalc servcalc==0.1.0 "$data/points.csv"
ask sr_sim vllm-sr-sim==0.1.0.dev20260713123629 "$data/points.csv"
ask genz genz-llm==0.0.16 "$folder/some.csv"
configs=$(find "$folder/aiconfigurator" -type d -name model_configs -print -quit)
if [[ -x ${BLIS:-} && -n $configs ]]; then
  python3 -B "$arena/with_blis.py" "$folder/some.csv" "$folder/blis.csv" "$BLIS" "$configs"
  mv "$folder/blis.csv" "$data/blis.csv"
else
  echo "skipped: no BLIS (set it to the program); what it predicted before stays"
fi
python3 -B "$arena/page.py"
echo "tests/arena/data/simulators.json names versions, date and memory: bring it up to date"
