#!/usr/bin/env bash
# Executes the notebooks, each in a clean kernel, and fails when a cell does. Their outputs hold
# neither times nor paths, so that equal results give equal files.
#   scripts/notebooks.sh [NAME...]             into a folder that is removed again
#   scripts/notebooks.sh --update [NAME...]    in place
# A NAME is a notebook's file name without .ipynb; all of them unless given. The program is
# $HEADROOM or the newest build of this checkout. Exits with 77 when Jupyter or pandas is missing.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
update=
names=()
for argument in "$@"; do
  case $argument in
    --update) update=1 ;;
    -*)
      echo 'usage: scripts/notebooks.sh [--update] [NAME...]' >&2
      exit 2
      ;;
    *) names+=("$(basename "${argument%.ipynb}")") ;;
  esac
done
if [[ ${#names[@]} == 0 ]]; then
  for file in "$root"/notebooks/*.ipynb; do names+=("$(basename "${file%.ipynb}")"); done
fi

python=
for candidate in python3 /usr/bin/python3; do
  if "$candidate" -c 'import ipykernel, matplotlib, nbconvert, pandas' 2>/dev/null; then
    python=$candidate
    break
  fi
done
if [[ -z $python ]] || ! command -v jupyter-nbconvert >/dev/null; then
  echo 'notebooks.sh: skipped: Jupyter, pandas or matplotlib is missing (scripts/setup.sh test)' >&2
  exit 77
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Settings of the user's own Jupyter, IPython and matplotlib would change what is drawn.
export IPYTHONDIR=$work/ipython JUPYTER_CONFIG_DIR=$work/jupyter MPLCONFIGDIR=$work/matplotlib
export JUPYTER_DATA_DIR=$work/jupyter-data JUPYTER_RUNTIME_DIR=$work/runtime
export PYDEVD_DISABLE_FILE_VALIDATION=1
# Without its font cache, matplotlib would begin the first notebook with a message.
"$python" -c 'import matplotlib.font_manager' 2>/dev/null

failed=()
for name in "${names[@]}"; do
  notebook=$root/notebooks/$name.ipynb
  if [[ ! -f $notebook ]]; then
    echo "notebooks.sh: $name: no such notebook in notebooks/" >&2
    exit 2
  fi
  start=$SECONDS
  if jupyter-nbconvert --to notebook --execute --output-dir "$work/out" --log-level ERROR \
    --ExecutePreprocessor.kernel_name=python3 --ExecutePreprocessor.record_timing=False \
    --ExecutePreprocessor.timeout=600 "$notebook" >"$work/log" 2>&1; then
    echo "$name: $((SECONDS - start)) s"
    [[ -z $update ]] || cp "$work/out/$name.ipynb" "$notebook"
  else
    cat "$work/log"
    echo "$name: FAILED after $((SECONDS - start)) s"
    failed+=("$name")
  fi
done
if [[ ${#failed[@]} != 0 ]]; then
  echo "notebooks.sh: failed: ${failed[*]}" >&2
  exit 1
fi
