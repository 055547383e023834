#!/usr/bin/env bash
# What the engines' own schedulers did, step by step, recorded by scripts/live.sh: headroom does the
# same, and says so of a trace that was changed.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
if ! command -v python3 >/dev/null; then
  echo 'skipped: no python3'
  exit 77
fi

live=$HEADROOM_SOURCE_DIR/tests/live
compare=(python3 -B "$live/compare.py" --headroom "$HEADROOM")
"${compare[@]}" "$live"/data/*.jsonl.gz || fail 'differs from the engine'

first=$(find "$live/data" -name '*.jsonl.gz' | sort | head -n 1)
python3 - "$first" >wrong.jsonl <<'PY'
import gzip, json, sys
trace = json.loads(next(gzip.open(sys.argv[1], "rt")))
trace["steps"][-1][4] += 1  # free blocks
print(json.dumps(trace))
PY
"${compare[@]}" wrong.jsonl >said.txt && fail 'a wrong trace passes'
grep -q 'free' said.txt || fail "$(cat said.txt)"

# The log itself: one line a step, nothing left of a run that fails.
small_scenario >small.json
"$HEADROOM" run small.json --json --step-log steps.jsonl >/dev/null
steps=$(grep -c '"rows":\[\[' steps.jsonl)
grep -q '"left":\[[0-9]' steps.jsonl || fail 'nobody leaves'
[[ $steps -gt 200 ]] || fail "$steps steps"
"$HEADROOM" run small.json --json >jumps.json
"$HEADROOM" run small.json --json --step-log again.jsonl >single.json
cmp steps.jsonl again.jsonl || fail 'not the same log'
[[ $(number jumps.json output_tokens) == $(number single.json output_tokens) ]]
expect_error 'cannot write' "$HEADROOM" run small.json --json --step-log no/such/folder/log
