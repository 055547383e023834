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

expect_error 'has no effect with one replica' \
  "$HEADROOM" run small.json --set fleet.router.policy=random -o bad
expect_error '/fleet/router/policy: value "least_loaded": one of' \
  "$HEADROOM" run small.json --set fleet.replicas=2 --set fleet.router.policy=least_loaded -o bad

# hits ROUTER: tokens found in prefix caches.
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
turns=$(hits mooncake-prefix-cache '{"policy": "round_robin"}' "${fleet[@]}")
affine=$(hits mooncake-prefix-cache '{"policy": "prefix_affinity"}' "${fleet[@]}")
# 15.4 % of the prompt tokens against 6.0 %.
[[ $affine -gt $((turns * 2)) ]] || fail "prefix hits of Mooncake: $affine, in turn $turns"
