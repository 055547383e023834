#!/usr/bin/env bash
# A new user in an empty folder: the demo, the lists, help on one screen, every file, every request.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

"$HEADROOM" --version | grep -qE '^headroom [0-9]+\.[0-9]+\.[0-9]+$' || fail 'version'
for help in --help 'run --help' 'check --help' 'list --help'; do
  lines=$("$HEADROOM" $help | wc -l)
  ((lines <= 40)) || fail "headroom $help takes $lines lines"
done
for kind in models devices engines calibrations options metrics scenarios schema; do
  [[ -n $("$HEADROOM" list $kind) ]] || fail "list $kind is empty"
done
"$HEADROOM" list schema | cmp - "$HEADROOM_SOURCE_DIR/scenarios/scenario.schema.json" ||
  fail 'refresh the schema: headroom list schema > scenarios/scenario.schema.json'

"$HEADROOM" check demo | grep -q '^check *ok$' || fail 'check demo'
[[ ! -e results ]] || fail 'check wrote something'

"$HEADROOM" run demo >summary.txt 2>stderr.txt
[[ ! -s stderr.txt ]] || fail "stderr is not a terminal: $(cat stderr.txt)"
[[ $(ls results/demo | tr '\n' ' ') == \
  'events.jsonl requests.csv resolved.json summary.json timeline.csv ' ]] || fail 'result files'
awk 'length > 80 { exit 1 }' summary.txt || fail 'the summary is wider than 80 columns'
grep -q '^group' summary.txt && fail 'one engine is shown as a fleet'
accounted results/demo/summary.json
[[ $(number results/demo/summary.json arrived) == 7200 ]] || fail 'demo: 7200 requests'
[[ $(wc -l <results/demo/requests.csv) == 7201 ]] || fail 'requests.csv: one row each'

# --json without -o writes no file; the same scenario as a file gives the same bytes.
rm -r results
"$HEADROOM" run demo --json >a.json
[[ ! -e results ]] || fail '--json wrote files'
"$HEADROOM" run "$HEADROOM_SOURCE_DIR/scenarios/demo.json" --json | cmp - a.json ||
  fail 'same bytes'

# Summed up as they leave: the same run without a table of requests.
"$HEADROOM" run demo --set output.streaming=true -o streamed --json >s.json
[[ $(ls streamed | tr '\n' ' ') == 'events.jsonl resolved.json summary.json timeline.csv ' ]] ||
  fail 'result files of a streamed run'
for metric in completed total_output_tokens mean_ttft_ms std_ttft_ms mean_e2el_ms p99_itl_ms; do
  [[ $(number s.json $metric) == "$(number a.json $metric)" ]] || fail "streamed $metric"
done

# A model that does not fit is an answer, not an error.
"$HEADROOM" run llama-70b-does-not-fit --json >oom.json || fail 'exit code of a start-up OOM'
grep -q '"kind": "startup"' oom.json || fail 'start-up OOM'
[[ $(number oom.json arrived) == 0 ]] || fail 'nothing arrives at an engine that did not start'
