#!/usr/bin/env bash
# The probe's parts that need no PyTorch. Without Python it says so.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

if ! command -v python3 >/dev/null; then
  echo 'skipped: no python3'
  exit 0
fi
python3 -B "$HEADROOM_SOURCE_DIR/hardware/probe/probe.py" --self-test | grep -qx 'self-test passed'
python3 -B "$HEADROOM_SOURCE_DIR/hardware/probe/probe.py" --help | grep -q -- --minutes
if python3 -B "$HEADROOM_SOURCE_DIR/hardware/probe/probe.py" --output no/such/folder/x \
  2>refused.txt; then
  fail 'a folder that is not there was accepted'
fi
grep -q 'cannot write there' refused.txt || fail 'which folder is missing'
# What is no probe file is refused by name.
echo '{"schema": "other"}' >other.json
if "$HEADROOM" calibrate other.json --calibration generic-async-other --device rtx4090 \
  --fit layer_us >refused.txt 2>&1; then
  fail 'another schema was fitted on'
fi
grep -q 'other.json' refused.txt || fail 'which file is wrong'
