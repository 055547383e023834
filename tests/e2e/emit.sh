#!/usr/bin/env bash
# `headroom emit` and `fleet plan --emit`: every form reads back, its head says what was simulated,
# and what is wrong leaves nothing behind.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

small_scenario >small.json
# Every form of one engine, and back: model, engine and the fleet's size are those of the scenario.
for form in kubernetes helm-values llm-d dynamo compose vllm-args; do
  "$HEADROOM" emit small.json --form $form --set engine.max_num_seqs=96 -o "$form.yaml" 2>notes ||
    fail "$form: $(cat notes)"
  grep -q '^#   HOLDS: ' $form.yaml || fail "$form: the head does not say what was simulated"
  source=$form.yaml
  [[ $form == vllm-args ]] && mv $form.yaml command.sh && source=command.sh
  "$HEADROOM" from $source --json >back.json
  python3 - $form <<'PY' || fail "$form is read back as something else"
import json, sys
answer = json.load(open("back.json"))
scenario = answer["scenario"]
assert answer["unknown_flags"] == [], answer
assert scenario["model"] == "meta-llama/Llama-3.1-8B", scenario
assert scenario["engine"]["max_num_seqs"] == 96 and scenario["engine"]["max_model_len"] == 4096
assert ("device" in scenario) == (sys.argv[1] != "vllm-args"), scenario
assert "fleet" not in scenario or "groups" not in scenario["fleet"], scenario
PY
done
# What is read back runs.
"$HEADROOM" from kubernetes.yaml >again.json
"$HEADROOM" capacity again.json >/dev/null

# A fleet: units in a folder of their own; several files are one fleet.
"$HEADROOM" emit fleet-chat --form systemd -o units --set workload.num_requests=50 2>notes
[[ $(ls units | wc -l) == 6 ]] || fail "$(ls units)"
grep -q 'not said by the files: .*fleet.faults.crashes' notes || fail "$(cat notes)"
[[ $(wc -l <notes) == 1 ]] || fail 'what is not said takes more than one line'
"$HEADROOM" from units/*.service --json | python3 -c '
import json, sys
groups = json.load(sys.stdin)["scenario"]["fleet"]["groups"]
found = sorted((one["name"], one["count"], one.get("device", "")) for one in groups)
assert [one[:2] for one in found] == [("h100", 2), ("l40s", 4)], found' || fail 'units'
if command -v systemd-analyze >/dev/null; then
  # It knows no GPU and no vllm, but the words of a unit.
  systemd-analyze verify units/*.service 2>verify || true
  if grep -q -i 'unknown key\|failed to parse\|invalid' verify; then fail "$(cat verify)"; fi
fi

# The same bytes again.
"$HEADROOM" emit fleet-autoscaling --form kubernetes --set workload.duration_s=60 \
  --set workload.arrivals='{"request_rate":2}' -o one.yaml 2>/dev/null
"$HEADROOM" emit fleet-autoscaling --form kubernetes --set workload.duration_s=60 \
  --set workload.arrivals='{"request_rate":2}' -o two.yaml 2>/dev/null
cmp one.yaml two.yaml || fail 'two runs write other bytes'
grep -q 'threshold: "24"' one.yaml || fail 'the simulated threshold is missing'

# What KEDA needs lies beside the chart's values, and both are one fleet.
"$HEADROOM" emit fleet-autoscaling --form helm-values --set workload.duration_s=60 \
  --set workload.arrivals='{"request_rate":2}' -o stack 2>/dev/null
"$HEADROOM" from stack/values.yaml stack/scaledobject.yaml --json | python3 -c '
import json, sys
fleet = json.load(sys.stdin)["scenario"]["fleet"]
(scaling,) = fleet["autoscaling"]
assert (scaling["metric"], scaling["target"], scaling["max_replicas"]) == ("in_flight", 24, 12)
' || fail 'the chart and its scaling are not one fleet'

# A plan's fleet lies beside the plan.
cat >plan.json <<'JSON'
{ "traffic": { "scenario": { "workload": { "arrivals": { "request_rate": 4 }, "duration_s": 30,
    "prompt": { "tokens": 500 }, "output": { "tokens": 100 } } } },
  "slo": { "p99_ttft_ms": 600 }, "models": [ "llama-3.1-8b" ], "failures": 1, "replications": 1,
  "instances": [ { "device": "h100-sxm", "price_per_hour": 3 } ] }
JSON
"$HEADROOM" fleet plan plan.json -o plan --emit kubernetes >plan.txt 2>notes
grep -q '^files .*kubernetes.yaml' plan.txt || fail 'the files are not told'
grep -q '^#   headroom: 1 of 2 replicas may be gone' plan/kubernetes.yaml || fail 'no headroom'
"$HEADROOM" from plan/kubernetes.yaml --json | grep -q '"replicas": 2' || fail 'not two replicas'

# What is wrong, and nothing is left behind.
mkdir wrong taken
cd wrong
expect_error 'nearest: kubernetes' "$HEADROOM" emit ../small.json --form kubernets
expect_error 'nearest: kubernetes' "$HEADROOM" emit ../small.json --form k8s
expect_error 'use vllm-args' "$HEADROOM" emit ../small.json --form sglang-args
expect_error 'exists already' "$HEADROOM" emit ../small.json --form kubernetes -o ../taken
expect_error 'no server command of orca' "$HEADROOM" emit azure-code-orca --form kubernetes
expect_error 'nothing to deploy' "$HEADROOM" emit llama-70b-does-not-fit --form kubernetes -o a.yaml
expect_error 'name a folder with -o' "$HEADROOM" emit fleet-chat --form systemd
expect_error 'does not start SGLang' "$HEADROOM" emit ../small.json --form helm-values \
  --set engine='{"name":"sglang"}'
expect_error 'nearest: kubernetes' "$HEADROOM" fleet plan ../plan.json --emit kubernets
[[ -z $(ls -A) ]] || fail "left behind: $(ls -A)"
# Where nothing keeps the targets, what was searched stays, and why nothing was emitted is said.
sed 's/600/0.001/' ../plan.json >hard.json
code=0
"$HEADROOM" fleet plan hard.json -o hard --emit kubernetes >hard.txt 2>hard_errors.txt || code=$?
[[ $code == 2 ]] || fail "exit code $code instead of 2"
grep -q -- '--emit: .*nothing to deploy' hard_errors.txt || fail "$(cat hard_errors.txt)"
[[ $(ls hard) == $'plan.html\nplan.json' ]] || fail "not the plan alone: $(ls hard)"
grep -q '"verdict": "does_not_hold"' hard/plan.json || fail 'the plan has no verdict'
grep -q 'plan.json' hard.txt || fail 'the plan is not told'
printf 'apiVersion: v1\nkind: Pod\n' >pod.yaml
expect_error 'no pod starts a known engine' "$HEADROOM" from pod.yaml
