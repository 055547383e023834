#!/usr/bin/env bash
# Answers come first: verdicts before tables, log tails as they are pasted, short forms, and results
# of another scenario left where they are.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# first_line PATTERN COMMAND...: what the first line of the answer is like.
first_line() {
  local pattern=$1
  shift
  "$HEADROOM" "$@" >answer.txt 2>&1 || true
  head -n 1 answer.txt | grep -qE -- "$pattern" || fail "$*: $(head -n 3 answer.txt)"
}

# Verdicts.
first_line '^HOLDS: [0-9.]+ % of requests keep TTFT 1.00 s and TPOT 50.0 ms$' run demo
# The rate that was asked for, whatever the seed draws.
first_line '^DOES NOT HOLD: overloaded: serves [0-9.]+ of 40 requests/s' run demo \
  --set rate=40
first_line '^with B ' compare demo --set-b engine.quantization=fp8 --replications 2
first_line '^[0-9]+ of 25 points keep up with their traffic; [0-9]+ are overloaded' sweep rate-curve
first_line '^verdict +DOES NOT START: ' audit llama-70b-does-not-fit
"$HEADROOM" capacity --model llama-3.1-8b --device rtx4090 --context 32k >capacity.txt
sed -n 2p capacity.txt | grep -qE '^  verdict +DOES NOT START' || fail "$(cat capacity.txt)"
grep -qE '^  change +engine.max_model_len 131072 -> ' capacity.txt || fail 'no cure'
"$HEADROOM" run demo --json >run.json
grep -q '"verdict": "holds"' run.json || fail 'no verdict in the JSON'

# A folder of another scenario is kept, that of the same one replaced.
[[ $(ls results) == $'demo\ndemo-2\nrate-curve.db' ]] || fail "results: $(ls results)"
"$HEADROOM" run demo --set rate=40 | grep -q '^files *results/demo-2$' || fail 'not replaced'
[[ $(ls results) == $'demo\ndemo-2\nrate-curve.db' ]] || fail "results: $(ls results)"

# The provenance of constants is folded.
"$HEADROOM" run demo | grep -q InferenceX && fail 'sources without -v'
"$HEADROOM" run demo -v | grep -q InferenceX || fail 'no sources with -v'

# Tails of logs, from a file and from standard input, coloured and cut off.
{
  printf '\033[1;31m(EngineCore_0 pid=271) ERROR 09-12 10:00:00 [core.py:712] ValueError: '
  printf "To serve at least one request with the models's max seq len (131072), "
  printf '(16.00 GiB KV cache is needed, which is larger than the available KV cache memory '
  printf '(5.45 GiB). Based on the available memory, the estimated maximum model length is 44672.'
} >tail.log
first_line '^OUT OF MEMORY: the KV pool is too small' audit tail.log
grep -qE '^change +--max-model-len 40192: ' answer.txt || fail "$(cat answer.txt)"
"$HEADROOM" audit - <tail.log | grep -q '10.55 GiB short' || fail 'standard input'
expect_error 'headroom audit tail.log' "$HEADROOM" ask tail.log --device rtx4090

# Short forms, and all that is missing at once.
cat >short.json <<'JSON'
{"model": "llama-3.1-8b", "device": "l40s", "rate": 2, "engine": {"max_model_len": "32k"},
 "workload": {"num_requests": "1k", "prompt": 3000, "output": 200}}
JSON
first_line '^HOLDS: keeps up with ' run short.json --until 100
echo '{}' >empty.json
expect_error 'missing: model, device, workload.num_requests, workload.arrivals, workload.prompt' \
  "$HEADROOM" run empty.json
expect_error 'may be any of' "$HEADROOM" run demo --set policy=x

# Help where it is looked for.
first_line '^Headroom simulates' # no command
first_line '^simulate a scenario' help run
expect_error '(nearest: run)' "$HEADROOM" rnu
[[ $("$HEADROOM" list options request_rate | grep -c '^[a-z]') -lt 10 ]] || fail 'not filtered'
expect_error 'nothing contains it' "$HEADROOM" list models no-such-model

# The last line says what to try next, and that command works; -q and --json leave it out.
next_step() {
  local pattern=$1
  shift
  "$HEADROOM" "$@" >answer.txt
  grep -qE "^next +headroom $pattern" answer.txt || fail "$*: $(tail -n 3 answer.txt)"
  "$HEADROOM" "$@" -q | grep -q '^next' && fail "$*: -q says what is next" || true
}
next_step 'ask short.json --slo p99_ttft=2s:' run short.json --until 100
next_step 'ask demo --set rate=40: how much it holds' run demo --set rate=40
next_step 'tune demo: the flags' run demo
next_step 'audit llama-70b-does-not-fit:' run llama-70b-does-not-fit
next_step 'ask --model llama-3.1-8b --device l40s --rate 5:' capacity --model llama-3.1-8b \
  --device l40s
next_step 'ask demo:' audit demo
next_step 'ask --device DEVICE' audit tail.log
next_step 'compare short.json --set-b max_num_seqs=255 (-o pair|--replications 8):' \
  compare short.json --set-b max_num_seqs=255 --replications 2
"$HEADROOM" run - <short.json >answer.txt
grep -q '^next *headroom report results/' answer.txt || fail "$(tail -n 2 answer.txt)"
"$HEADROOM" sweep rate-curve -o next.db >answer.txt
grep -q '^next *headroom report next.db: ' answer.txt || fail "$(tail -n 2 answer.txt)"
[[ $("$HEADROOM" | grep -c '?$') == 3 ]] || fail 'not three questions'
