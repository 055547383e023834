#!/usr/bin/env bash
# Executes the notebooks, each in a clean kernel, and fails when a cell does. Their outputs hold
# neither times nor paths, so that equal results give equal files.
#   scripts/notebooks.sh [NAME...]             into a folder that is removed again
#   scripts/notebooks.sh --update [NAME...]    in place
# A NAME is a notebook's file name without .ipynb; all of them unless given. The program is
# $HEADROOM or the newest build of this checkout.
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

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Settings of the user's own Jupyter, IPython and matplotlib would change what is drawn.
export IPYTHONDIR=$work/ipython JUPYTER_CONFIG_DIR=$work/jupyter MPLCONFIGDIR=$work/matplotlib
export JUPYTER_DATA_DIR=$work/jupyter-data JUPYTER_RUNTIME_DIR=$work/runtime
export PYDEVD_DISABLE_FILE_VALIDATION=1
# Its font cache, so that no notebook begins with a message about it.
/usr/bin/env -S python3 -c 'import matplotlib.font_manager' 2>/dev/null || true

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
