#!/usr/bin/env bash
# The Python module of the notebooks: its own tests, where pandas and matplotlib are.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

for python in python3 /usr/bin/python3; do
  if "$python" -c 'import matplotlib, pandas' 2>/dev/null; then
    export PYTHONPATH=$HEADROOM_SOURCE_DIR/notebooks PYTHONDONTWRITEBYTECODE=1
    export MPLBACKEND=Agg MPLCONFIGDIR=$PWD/matplotlib
    exec "$python" -W error::FutureWarning -m unittest discover \
      -s "$HEADROOM_SOURCE_DIR/tests/python"
  fi
done
echo 'skipped: pandas or matplotlib is missing (scripts/setup.sh test)'
exit 77
