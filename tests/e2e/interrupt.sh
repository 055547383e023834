#!/usr/bin/env bash
# Ctrl-C ends a run with complete, consistent results and exit code 130.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Single steps, so that the run lasts until it is interrupted.
"$HEADROOM" run chat-million --single-step --set workload.num_requests=50000000 -o long \
  >summary.txt 2>stderr.txt &
program=$!
for _ in $(seq 100); do
  compgen -G '.long.partial-*' >/dev/null && break
  sleep 0.1
done
sleep 2
kill -INT $program
code=0
wait $program || code=$?
[[ $code == 130 ]] || fail "exit code $code: $(cat stderr.txt)"
[[ ! -e .long.partial-$program ]] || fail 'a temporary folder stayed'
accounted long/summary.json
grep -q '"stop": "interrupted"' long/summary.json || fail 'the stop reason is not in the summary'
(($(number long/summary.json finished) > 0)) || fail 'nothing had finished'
[[ $(wc -l <long/requests.csv) == $(($(number long/summary.json arrived) + 1)) ]] ||
  fail 'requests.csv is not complete'
