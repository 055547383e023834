#!/usr/bin/env bash
# Two scenarios under the same traffic: table, JSON, folders for a report, any number of threads.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

"$HEADROOM" compare demo --set workload.arrivals.request_rate=6 --set-b engine.max_num_seqs=16 \
  --set workload.num_requests=2000 -o pair >text.txt
grep -qE "mean_ttft_ms.*differs" text.txt || fail "a batch limit of 16 is not seen"
grep -qE '^ *queue +\+' text.txt || fail 'the queue is not named'
for side in a b; do
  [[ -e pair/$side/summary.json && -e pair/$side/requests.csv ]] || fail "results of $side"
done
"$HEADROOM" report pair/a pair/b -o pair.html >report.txt || fail 'a report of the pair'

"$HEADROOM" compare pair-engines --json -j 1 >one.json
"$HEADROOM" compare pair-engines --json -j 2 >two.json
cmp one.json two.json || fail 'threads change the result'
[[ $(number one.json replications) == 5 ]] || fail 'replications'

expect_error '25 points' "$HEADROOM" compare rate-curve
expect_error '--replications 0: expected 1 to' "$HEADROOM" compare pair-models --replications 0
expect_error '/engine/max_num_seq: unknown key' \
  "$HEADROOM" compare demo --set-b engine.max_num_seq=1
