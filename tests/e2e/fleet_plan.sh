#!/usr/bin/env bash
# `headroom fleet plan`: the ready plans, their files, the same bytes for any number of threads, and
# what can be wrong.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

cat >plan.json <<'JSON'
{
  "traffic": {
    "scenario": { "workload": {
      "arrivals": { "request_rate": 4 }, "duration_s": 60,
      "prompt": { "law": "lognormal", "median": 500, "sigma": 0.7, "max": 4000 },
      "output": { "law": "lognormal", "median": 120, "sigma": 0.7, "max": 1000 },
      "max_tokens": { "rule": "value", "value": 1000 } } },
    "scale": 5
  },
  "slo": { "p99_ttft_ms": 600, "p99_tpot_ms": 60 },
  "models": [ "llama-3.1-8b", "llama-3.1-70b" ],
  "instances": [
    { "name": "2xL40S", "device": "l40s", "gpus": 2, "price_per_hour": 2 },
    { "device": "h100-sxm", "price_per_hour": 3 } ],
  "engines": [ { "name": "vllm", "version": "0.19", "max_model_len": 8192 } ],
  "failures": 1, "growth": [1.5], "replications": 2
}
JSON

"$HEADROOM" fleet plan plan.json -j1 -o one >one.txt
"$HEADROOM" fleet plan plan.json -j2 -o two >two.txt
for file in plan.json plan.html fleet.json; do
  cmp "one/$file" "two/$file" || fail "$file differs between one thread and two"
done
cmp <(sed 's/^files .*//' one.txt) <(sed 's/^files .*//' two.txt) || fail 'the text differs'
grep -q '^cheapest ' one.txt || fail 'no cheapest fleet'
grep -q 'llama-3.1-70b on 1 x h100-sxm.*memory: does not start' one.txt || fail 'no reason'
grep -q '^start .*vllm serve meta-llama/Llama-3.1-8B' one.txt || fail 'no command'
grep -Eq '^  latencies are means of runs .* the worst of 2 of the first fleet: p99 TTFT' one.txt ||
  fail 'how far single runs lie from the means is not told'
grep -q 'assumes .*llama-3.1-8b: 1 input, 1 output' one.txt || fail 'token factors are not told'
"$HEADROOM" fleet plan plan.json --json | cmp - <(sed 's|"\.\./|"|' one/plan.json) ||
  fail '--json prints something else'

# The chosen fleet is a scenario that runs, and keeps the targets.
"$HEADROOM" run one/fleet.json -o run >/dev/null
accounted run/summary.json
python3 - <<'PY' || fail 'the chosen fleet'
import json
answer = json.load(open("one/plan.json"))
fleet = answer["fleets"][answer["chosen"]]
run = json.load(open("run/summary.json"))
assert run["fleet"]["replicas"] == fleet["replicas"]
assert abs(run["fleet"]["cost_per_hour"] - fleet["cost_per_hour"]) <= 2
assert run["metrics"]["p99_ttft_ms"] <= answer["slo"]["p99_ttft_ms"]
assert run["metrics"]["p99_tpot_ms"] <= answer["slo"]["p99_tpot_ms"]
assert run["energy"]["joules_per_output_token"] > 0
assert fleet["replicas"] == fleet["needed_replicas"] + 1
PY

# Ready plans, by name; the one with a trace asks for it.
"$HEADROOM" list plans | grep -q '^chat-fleet$' || fail 'list plans'
expect_error 'name the trace with --trace' "$HEADROOM" fleet plan azure-conversation-x20
expect_error 'no built-in plan of this name (nearest: chat-fleet)' "$HEADROOM" fleet plan chat-flet
sed 's/"slo"/"slos"/' plan.json >wrong.json
expect_error 'wrong.json: /slos: unknown key (nearest: slo)' "$HEADROOM" fleet plan wrong.json
sed 's/"max_model_len"/"max_model_length"/' plan.json >wrong.json
expect_error '/engine/max_model_length: unknown key' "$HEADROOM" fleet plan wrong.json
sed 's/"max_model_len": 8192/"max_num_batched_tokens": 8, "max_num_seqs": 64/' plan.json >wrong.json
expect_error 'no candidate can run' "$HEADROOM" fleet plan wrong.json -o none
[[ ! -e none ]] || fail 'a refused plan wrote something'
sed 's/"p99_ttft_ms": 600/"p99_ttft_ms": 1/' plan.json >slow.json
"$HEADROOM" fleet plan slow.json -o slow >slow.txt
grep -q '^files .*slow/plan.html, plan.json$' slow.txt || fail 'it names a file that is not there'
[[ ! -e slow/fleet.json ]] || fail 'a fleet where none was found'
expect_error '-j 0: expected 1 to' "$HEADROOM" fleet plan plan.json -j0
expect_error 'has no effect: the traffic of plan.json is not a trace' \
  "$HEADROOM" fleet plan plan.json --trace x.csv

# The same plan by flags and in a file: the same bytes, whoever wrote the file.
cat >by_hand.json <<'JSON'
{
  "name": "fleet",
  "traffic": { "scenario": { "workload": { "arrivals": 10, "duration_s": 60, "prompt": 500,
    "output": 100, "max_tokens": { "rule": "times_output", "times_output": 1 } } } },
  "slo": { "p99_ttft_ms": "1s", "p99_tpot_ms": 60 },
  "models": [ "llama-3.1-8b" ],
  "instances": [
    { "name": "2xl40s", "device": "l40s", "gpus": 2, "price_per_hour": 2,
      "price_source": "--price" },
    { "device": "h100-sxm", "price_per_hour": 3, "price_source": "--price" } ],
  "tensor_parallel_size": [1, 2], "failures": 1
}
JSON
flags=(--model llama-3.1-8b --device 2xl40s,h100-sxm --price 2,3 --rate 10 --in 500 --out 100
  --slo 'p99_ttft=1s,p99_tpot=60ms' --failures 1 --set traffic.scenario.workload.duration_s=60)
mkdir kept
"$HEADROOM" fleet plan "${flags[@]}" --save kept/saved.json -o flags >flags.txt 2>progress.txt
[[ $(sed 's/ candidates sized//' progress.txt | paste -sd,) == '1 of 3,2 of 3,3 of 3' ]] ||
  fail "progress: $(cat progress.txt)"
for plan in by_hand.json kept/saved.json; do
  "$HEADROOM" fleet plan "$plan" -o file >/dev/null 2>&1
  for file in plan.json plan.html fleet.json; do
    cmp "flags/$file" "file/$file" || fail "$file of flags differs from that of $plan"
  done
done
"$HEADROOM" fleet plan "${flags[@]:0:6}" --rate 10 --slo p99_ttft=1s >usual.txt 2>/dev/null
grep -q '^assumes .*1024 tokens in and 256 out' usual.txt || fail 'usual lengths are not told'
# A name without its organisation, and a checkpoint that somebody quantised; the start line has it.
"$HEADROOM" fleet plan --model Llama-3.1-8B-Instruct,Qwen3-8B-AWQ --device l40s --price 1 --rate 2 \
  --in 500 --out 100 --slo p99_ttft=1s >names.txt 2>/dev/null
grep -q '^start .*vllm serve \(meta-llama/Llama-3.1-8B-Instruct\|Qwen3-8B-AWQ\)' names.txt ||
  fail "$(cat names.txt)"
# A trace is found from where the plan is saved.
printf 'TIMESTAMP,ContextTokens,GeneratedTokens\n' >trace.csv
for i in {10..59}; do
  printf '2023-11-16 18:00:%s.0000000,%s,20\n' "$i" "$((100 + i))"
done >>trace.csv
trace=(--model llama-3.1-8b --device h100-sxm --price 3 --trace trace.csv --slo p99_ttft=1s)
"$HEADROOM" fleet plan "${trace[@]}" --save kept/trace.json -o traced >/dev/null 2>&1
"$HEADROOM" fleet plan kept/trace.json -o again >/dev/null 2>&1
cmp traced/plan.json again/plan.json || fail 'a saved plan with a trace'
"$HEADROOM" run again/fleet.json -o traced_run >/dev/null

# What is wrong with flags.
expect_error 'name a plan, a file or one of' "$HEADROOM" fleet plan
expect_error 'needs --slo' "$HEADROOM" fleet plan "${flags[@]:0:8}"
expect_error 'PRICE_OF_8xl40s,PRICE_OF_h100' "$HEADROOM" fleet plan --model llama-3.1-8b \
  --device 8xl40s,h100 --rate 1 --slo p99_ttft=1s
expect_error '--rate: is for a plan by flags' "$HEADROOM" fleet plan plan.json --rate 5
expect_error '--save: is for a plan by flags' "$HEADROOM" fleet plan plan.json --save a.json
expect_error '--device h101: /instances/0/device: unknown device' "$HEADROOM" fleet plan \
  --model llama-3.1-8b --device h101 --price 1 --rate 1 --slo p99_ttft=1s --save never.json
[[ ! -e never.json ]] || fail 'a refused plan was saved'

# Ranks on one node have the step times that `ask` and `run` give them.
"$HEADROOM" fleet plan --model llama-3.1-70b --device 4xh100-sxm --price 10 --rate 0.2 --in 500 \
  --out 50 --slo p99_ttft=5s -o ranks >/dev/null
grep -q '"tensor_parallel_size"' ranks/fleet.json || fail 'one device holds no 70B in 16 bits'
"$HEADROOM" run ranks/fleet.json -o ranks_run | grep -q '^step cost   kernels of h100-sxm' ||
  fail 'a replica within one node is not priced by kernels'
