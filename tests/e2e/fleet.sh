#!/usr/bin/env bash
# Fleets from the command line: a number of replicas, groups, routers, a crash, and what the results
# say of each replica. The Mooncake conversation trace over eight replicas, if it is there.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# requests_of FILE REPLICA: rows of requests.csv.
requests_of() { awk -F, -v replica="$2" 'NR > 1 && $3 == replica' "$1" | wc -l; }

small_scenario >small.json
"$HEADROOM" run small.json -o alone >/dev/null
"$HEADROOM" run small.json --set fleet.replicas=1 -o one >/dev/null
for file in requests.csv timeline.csv events.jsonl; do
  cmp alone/$file one/$file || fail "a fleet of one differs in $file"
done
grep -q '"fleet"' alone/summary.json && fail 'a scenario without a fleet speaks of one'

"$HEADROOM" run small.json --set fleet.replicas=4 --set fleet.router.policy=round_robin \
  -o four >four.txt
accounted four/summary.json
for replica in 0 1 2 3; do
  [[ $(requests_of four/requests.csv $replica) == 50 ]] || fail "share of replica $replica"
done
grep -q '^group ' four.txt || fail 'the terminal says nothing of the group'

# A crash loses nobody who is sent again, and single steps are the same run.
for way in '' --single-step; do
  "$HEADROOM" run fleet-chat --set workload.num_requests=3000 --set run.until_s=200 \
    --set 'fleet.faults.crashes=[{"replica": 0, "at_s": 30, "down_s": 20}]' $way \
    -o crash$way >/dev/null
done
cmp crash/requests.csv crash--single-step/requests.csv || fail 'single steps differ'
[[ $(number crash/summary.json lost_to_fault) == 0 ]] || fail 'somebody was lost'
[[ $(number crash/summary.json finished) == 3000 ]] || fail 'not everybody finished'
grep -q '"kind":"crashed"' crash/events.jsonl || fail 'no crash in the events'
grep -q '"kind":"requeued"' crash/events.jsonl || fail 'nobody was sent again'

# Prefill and decode apart: every answer moved once, and single steps are the same run.
for way in '' --single-step; do
  "$HEADROOM" run fleet-disaggregated --set workload.num_requests=200 $way -o apart$way >apart.txt
done
for file in requests.csv transfers.csv timeline.csv; do
  cmp apart/$file apart--single-step/$file || fail "single steps differ in $file"
done
[[ $(wc -l <apart/transfers.csv) == 201 ]] || fail 'not every request has a transfer'
grep -q '"transfers"' apart/summary.json || fail 'no transfers in the summary'
grep -q '^transfers ' apart.txt || fail 'the terminal says nothing of transfers'
[[ -e four/transfers.csv ]] && fail 'transfers of a fleet without roles'

# A cascade: each request has one row, whoever answered it, and single steps are the same run.
for way in '' --single-step; do
  "$HEADROOM" run fleet-cascade --set workload.num_requests=500 $way -o cascade$way >cascade.txt
done
for file in requests.csv timeline.csv events.jsonl; do
  cmp cascade/$file cascade--single-step/$file || fail "single steps of a cascade differ in $file"
done
accounted cascade/summary.json
[[ $(wc -l <cascade/requests.csv) == 501 ]] || fail 'not one row for each request'
escalated=$(requests_of cascade/requests.csv 2)
[[ $escalated -gt 100 && $escalated -lt 200 ]] || fail "$escalated of 500 on the large model"
[[ $(number cascade/summary.json from_other_routes) == 0 ]] || fail 'the first route is the first'
grep -q "\"answers\": $escalated" cascade/summary.json || fail 'what was not kept is not told'
grep -q '^route ' cascade.txt || fail 'the terminal says nothing of routes'
grep -q '^not kept ' cascade.txt || fail 'the terminal says nothing of what was not kept'

# At the door: rejected, by no replica.
"$HEADROOM" run small.json -o door >/dev/null \
  --set 'fleet={"replicas": 2, "admission": {"policy": "max_in_flight", "max_in_flight": 4}}'
accounted door/summary.json
away=$(number door/summary.json turned_away)
[[ $away -gt 0 && $away == $(requests_of door/requests.csv '') ]] || fail "turned away: $away"

# A fleet that follows its load costs less than the most of it, and single steps are the same run.
for way in '' --single-step; do
  "$HEADROOM" run fleet-autoscaling $way -o scaled$way >/dev/null
done
accounted scaled/summary.json
cmp scaled/requests.csv scaled--single-step/requests.csv || fail 'single steps differ in scaling'
[[ $(number scaled/summary.json peak_replicas) == 12 ]] || fail 'the rush hour asks for all'
grep -q '"to": 2,' scaled/summary.json || fail 'the fleet does not shrink again'

# Mitzenmacher's supermarket model, 90 % busy: with two choices 2.6141 s in the system (the sum
# over i of 0.9^(2^i - 2)), by chance 10 s; 100,000 requests from an empty system, so within some
# percent.
stay() {
  "$HEADROOM" run fleet-two-choices --set workload.num_requests=100000 \
    --set fleet.router.policy="$1" -o stay >/dev/null
  number stay/summary.json mean_e2el_ms | cut -d. -f1
}
two=$(stay power_of_two)
by_chance=$(stay random)
((two > 2500 && two < 2760)) || fail "two choices: $two ms in the system"
((by_chance > 9000 && by_chance < 11500)) || fail "by chance: $by_chance ms in the system"

# Promises: packed onto few replicas, they are kept as they are by all eight.
for strategy in least most; do
  "$HEADROOM" run small.json --set fleet.replicas=8 --set 'slo={"ttft_ms": 500, "tpot_ms": 30}' \
    --set fleet.router.policy=slo_aware -o $strategy >/dev/null \
    --set fleet.router.headroom_selection_strategy=$strategy
  accounted $strategy/summary.json
done
packed=$(tail -n +2 least/requests.csv | cut -d, -f3 | sort -u | wc -l)
spread=$(tail -n +2 most/requests.csv | cut -d, -f3 | sort -u | wc -l)
((packed < spread && spread == 8)) || fail "replicas in use: $packed packed, $spread spread"

# A fleet that follows the TTFT of its clients, and pays for the nodes that wait.
for way in '' --single-step; do
  "$HEADROOM" run fleet-autoscaling $way -o late$way >/dev/null --set 'fleet.autoscaling=[
    {"min_replicas": 2, "max_replicas": 12, "metric": "ttft", "target": 500, "percentile": 90,
     "provisioning_s": 90, "nodes_ready": 2, "pay_idle_nodes": true}]'
done
accounted late/summary.json
cmp late/requests.csv late--single-step/requests.csv || fail 'single steps differ with metric ttft'
decisions() { sed -n '/"scaling"/,/\]/p' "$1/summary.json"; }
cmp <(decisions late) <(decisions late--single-step) || fail 'decisions differ in single steps'
(($(number late/summary.json peak_replicas) > 2)) || fail 'late first tokens add nobody'

"$HEADROOM" run small.json --set fleet.router.policy=random -o one >/dev/null
expect_error '/fleet/router/policy: value "least_loaded": one of' \
  "$HEADROOM" run small.json --set fleet.replicas=2 --set fleet.router.policy=least_loaded -o bad

# hits SCENARIO ROUTER: tokens found in prefix caches.
hits() {
  "$HEADROOM" run "$1" --set "fleet.router=$2" "${@:3}" -o hits >/dev/null
  number hits/summary.json prefix_cache_hits
}
turns=$(hits fleet-prefix-affinity '{"policy": "round_robin"}')
affine=$(hits fleet-prefix-affinity '{"policy": "prefix_affinity"}')
[[ $affine -gt $((turns * 5 / 4)) ]] || fail "prefix hits: $affine, in turn $turns"

trace=$HEADROOM_SOURCE_DIR/../shared/traces/mooncake-fast25/conversation_trace.jsonl
if [[ ! -f $trace ]]; then
  echo 'no Mooncake trace: the rest is skipped'
  exit 0
fi
fleet=(--trace "$trace" --set fleet.replicas=8 --set device=h100-sxm --set
  'engine={"name": "vllm", "version": "0.19", "block_size": 512, "max_model_len": 131072}')
ttft() { number hits/summary.json mean_ttft_ms | cut -d. -f1; }
turns=$(hits mooncake-prefix-cache '{"policy": "round_robin"}' "${fleet[@]}")
turns_ttft=$(ttft)
affine=$(hits mooncake-prefix-cache '{"policy": "prefix_affinity"}' "${fleet[@]}")
affine_ttft=$(ttft)
# 15.4 % of the prompt tokens against 6.0 %, and a mean TTFT of 764 ms against 814.
[[ $affine -gt $((turns * 2)) ]] || fail "prefix hits of Mooncake: $affine, in turn $turns"
((affine_ttft < turns_ttft)) || fail "TTFT of Mooncake: $affine_ttft ms, in turn $turns_ttft"
