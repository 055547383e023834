#!/usr/bin/env bash
# A program on sim/api gets the bytes that the command line prints.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
: "${API_ANSWERS:?the program of tests/api/answers.cpp}"

cp "$HEADROOM_SOURCE_DIR/scenarios/demo.json" a.json
sed 's/"max_model_len": 16384/"max_model_len": 16384, "max_num_seqs": 20/' a.json >b.json
cmp -s a.json b.json && fail 'the two scenarios are equal'

same() { cmp "$1" "$2" || fail "$1 and $2 differ"; }

"$API_ANSWERS" run a.json >api_run.json
"$HEADROOM" run a.json -o results >/dev/null
same api_run.json results/summary.json

"$API_ANSWERS" capacity a.json >api_capacity.json
"$HEADROOM" capacity a.json --context 2048,8192 --json >capacity.json
same api_capacity.json capacity.json

"$API_ANSWERS" audit a.json >api_audit.json
"$HEADROOM" audit a.json --context 4096 --concurrency 8 --json >audit.json
same api_audit.json audit.json

"$API_ANSWERS" compare a.json b.json >api_compare.json
"$HEADROOM" compare a.json b.json --replications 2 --json >compare.json
same api_compare.json compare.json
