#!/usr/bin/env bash
# --set, --trace, --until, --single-step: what they change, and what they must not.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

small_scenario >small.json
run() { "$HEADROOM" run "$@" >/dev/null; }

# Jumps over equal steps change no byte of any file; only resolved.json says which way it was.
for engine in vllm orca static; do
  run small.json --set engine.name=$engine -o jump-$engine
  run small.json --set engine.name=$engine --single-step -o step-$engine
  for file in summary.json requests.csv timeline.csv events.jsonl; do
    cmp "jump-$engine/$file" "step-$engine/$file" || fail "$engine: $file differs"
  done
  accounted jump-$engine/summary.json
done
cmp -s jump-vllm/requests.csv jump-orca/requests.csv && fail 'engines do not differ'

# A value set on the command line counts, and resolved.json says who set it.
run small.json --set engine.max_num_seqs=3 -o few
grep -q '"set_by": "--set engine.max_num_seqs=3"' few/resolved.json || fail 'set_by'
awk -F, 'NR > 1 && $3 > 3 { exit 1 }' few/timeline.csv || fail 'more than 3 ran together'
cmp -s few/requests.csv jump-vllm/requests.csv && fail '--set had no effect'

# The same run ended earlier: fewer finished, all accounted for.
run small.json --until 5 -o early
accounted early/summary.json
(($(number early/summary.json unfinished) > 0)) || fail '--until 5 left nothing unfinished'
[[ $(number early/summary.json end_s) == 5.0 ]] || fail 'end at 5 s'
run small.json --until 0.1m -o early
[[ $(number early/summary.json end_s) == 6.0 ]] || fail 'a tenth of a minute is 6 s'

# A trace given on the command line replaces the generated workload; its name and hash are recorded.
mkdir elsewhere
printf '%s\r\n%s\r\n%s' TIMESTAMP,ContextTokens,GeneratedTokens \
  '2023-11-16 18:17:03.9700000,10,5' '2023-11-16 18:17:04.0000000,20,7' >elsewhere/two.csv
run small.json --trace elsewhere/two.csv -o traced
[[ $(number traced/summary.json arrived) == 2 ]] || fail 'two requests'
[[ $(number traced/summary.json total_output_tokens) == 12 ]] || fail '12 tokens'
grep -q '"trace": "two.csv"' traced/summary.json || fail 'name of the trace, not its path'
grep -q "$(sha256sum elsewhere/two.csv | cut -d' ' -f1)" traced/summary.json || fail 'hash'

# In a scenario, a relative trace is relative to the scenario.
sed 's/"arrivals".*/"trace": {"file": "two.csv"},/; /num_requests/d; /"prompt"/d; /"output"/d' \
  small.json >elsewhere/traced.json
run elsewhere/traced.json -o relative
cmp relative/requests.csv traced/requests.csv || fail 'relative trace'
