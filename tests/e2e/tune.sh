#!/usr/bin/env bash
# `tune`: the best flags of a scenario; what it saves holds as much as it says; the same answer for
# any number of workers; bad input is refused before anything runs.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

small_scenario | sed 's/"max_model_len": 4096/"max_model_len": 4096, "max_num_seqs": 4/' >small.json
options=(small.json --slo p99_ttft=1s --budget 300)
"$HEADROOM" tune "${options[@]}" --save tuned.json -j 1 >one.txt
"$HEADROOM" tune "${options[@]}" -j 2 >two.txt
cmp one.txt two.txt || fail '-j 1 and -j 2 differ'
head -n 1 one.txt | grep -q '^BEST: .*engine.max_num_seqs=' || fail "$(cat one.txt)"
for label in 'as it is' defaults best gain 'model off' search command next; do
  grep -q "^$label  *" one.txt || fail "no line '$label': $(cat one.txt)"
done
grep -qE '^command +vllm serve .*--max-model-len 4096' one.txt || fail "$(cat one.txt)"
awk 'length > 120 { exit 1 }' one.txt || fail "lines are too long: $(cat one.txt)"

# The saved scenario holds what is said, and is best itself.
"$HEADROOM" tune "${options[@]}" --json >answer.json
less=$(python3 -c 'import json; print(0.97 * json.load(open("answer.json"))["best"]["load"])')
"$HEADROOM" ask tuned.json --rate "$less" --slo p99_ttft=1s >/dev/null || fail "$less does not hold"
"$HEADROOM" tune tuned.json --slo p99_ttft=1s --budget 300 -q >again.txt
head -n 1 again.txt | grep -qE '^(AS IT STANDS|NOT CERTAIN|BEST: .*[^0-9][0-4]\.[0-9] % more)' ||
  fail "$(cat again.txt)"

# Own values alone; other objectives; standard input.
"$HEADROOM" tune - --only-tries --try engine.max_num_seqs=2,32 -q <small.json >own.txt
head -n 1 own.txt | grep -q '^BEST: engine.max_num_seqs=32' || fail "$(cat own.txt)"
grep -q '^next' own.txt && fail '-q says what is next'
"$HEADROOM" tune small.json --objective joules --budget 100 | grep -q 'J/token' || fail joules
"$HEADROOM" tune small.json --objective dollars --price 2 --budget 100 >dollars.txt
grep -qE '^best .*\$ [0-9.]+ per million output tokens' dollars.txt || fail "$(cat dollars.txt)"
code=0
"$HEADROOM" tune small.json --slo p99_ttft=1us --budget 50 >nothing.txt || code=$?
[[ $code == 4 ]] || fail "exit code $code where nothing holds"
head -n 1 nothing.txt | grep -q '^NOTHING HOLDS' || fail "$(cat nothing.txt)"

# Traffic of no one rate: tokens/s instead of a load.
sed 's/"arrivals": *{[^}]*}/"arrivals": {"process": "all_at_once"}/' small.json >at_once.json
grep -q all_at_once at_once.json || fail "$(cat small.json)"
"$HEADROOM" tune at_once.json --budget 10 >at_once.txt
grep -qE '^as it is +[0-9.]+ tokens/s' at_once.txt || fail "$(cat at_once.txt)"

# Recorded requests are the same with every seed: there are no other draws to judge the gain with.
awk 'BEGIN {
  print "ms,in,out"
  for (i = 0; i < 300; i++) print i * 40 "," 200 + i % 90 "," 60 + i % 70
}' >own.csv
"$HEADROOM" tune small.json --slo p99_ttft=1s --budget 150 --trace own.csv \
  --set workload.trace.columns=time=ms:ms,in=in,out=out >recorded.txt
head -n 1 recorded.txt | grep -q '^BEST: ' || fail "$(cat recorded.txt)"
tr -s '\n ' ' ' <recorded.txt | grep -q ' gain .* recorded requests: .* there is no interval' ||
  fail "$(cat recorded.txt)"
! grep -q 'draws' recorded.txt || fail "$(cat recorded.txt)"

"$HEADROOM" tune demo --budget 10 | head -n 1 | grep -q '^NOT FOUND: --budget' ||
  fail 'a search that its budget ended'

# Bad input.
expect_error '--objective' "$HEADROOM" tune small.json --objective speed
expect_error '--budget 0' "$HEADROOM" tune small.json --budget 0
expect_error '--price' "$HEADROOM" tune small.json --price 0
expect_error '--price' "$HEADROOM" tune small.json --objective dollars
expect_error '--keep' "$HEADROOM" tune small.json --keep engine.max_num_sqs
expect_error '--try' "$HEADROOM" tune small.json --try engine.max_num_seqs
expect_error 'engine.max_num_sqs' "$HEADROOM" tune small.json --try engine.max_num_sqs=4
expect_error '--try engine.max_num_seqs: /engine/max_num_seqs: value "many"' \
  "$HEADROOM" tune small.json --try max_num_seqs=many
expect_error '--only-tries' "$HEADROOM" tune small.json --only-tries
expect_error '--slo' "$HEADROOM" tune small.json --slo ttft=1s
expect_error 'no such file' "$HEADROOM" tune smal.json
expect_error 'no-folder' "$HEADROOM" tune small.json --save no-folder/a.json
nothing_left
