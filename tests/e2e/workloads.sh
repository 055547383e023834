#!/usr/bin/env bash
# Traffic as users bring it. A sample of every trace format runs to its end and is accounted for,
# packed or not; the example scenarios of traffic run and repeat themselves; classes and clients
# that give up are in the results.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

samples=$HEADROOM_SOURCE_DIR/tests/data/traces
files='summary.json requests.csv timeline.csv events.jsonl'

cat >replay.json <<'JSON'
{
  "name": "replay",
  "model": "llama-3.1-8b",
  "device": "h100-sxm",
  "engine": {"name": "vllm", "version": "0.19", "max_model_len": 32768},
  "output": {"timeline_interval_s": 3600}
}
JSON

run() { "$HEADROOM" run "$@" >/dev/null; }

# text FILE KEY: the first value of that key, a text.
text() { sed -n "s/^ *\"$2\": \"\([^\"]*\)\",\{0,1\}$/\1/p" "$1" | head -n 1; }

# same A B: the result folders A and B hold the same bytes.
same() {
  local file
  for file in $files; do cmp "$1/$file" "$2/$file" || fail "$1, $2: $file"; done
}

# completed DIR: it ran until nothing was left, and every request left in exactly one way.
completed() {
  [[ $(text "$1/summary.json" stop) == drained ]] || fail "$1: $(text "$1/summary.json" stop)"
  accounted "$1/summary.json"
  [[ $(number "$1/summary.json" arrived) == $(($(wc -l <"$1/requests.csv") - 1)) ]] ||
    fail "$1: requests.csv has another number of requests"
}

# --- trace formats ---

declare -A replayed formats

# replay SAMPLE FORMAT REQUESTS [FLAG...]: its rows with tokens are so many, and all are served;
# packed, they are the same.
replay() {
  local file=$samples/$1 format=$2 requests=$3 out=traces/$1
  replayed[${1%%/*}]=1
  formats[$format]=1
  shift 3
  run replay.json --trace "$file" "$@" -o "$out"
  completed "$out"
  [[ $(text "$out/summary.json" trace_format) == "$format" ]] || fail "$file: format"
  [[ $(number "$out/summary.json" finished) == "$requests" ]] ||
    fail "$file: $(number "$out/summary.json" finished) requests instead of $requests"

  # What belongs to the file (lengths of chunks, a YAML header) is found beside the packed one, too.
  mkdir packed
  find "$(dirname "$file")" -maxdepth 1 -type f -exec cp {} packed/ \;
  gzip "packed/$(basename "$file")"
  run replay.json --trace "packed/$(basename "$file").gz" "$@" -o packed/out
  cmp "$out/requests.csv" packed/out/requests.csv || fail "$file: packed"
  [[ $(text packed/out/summary.json trace_sha256) == "$(sha256sum "$file" | cut -d' ' -f1)" ]] ||
    fail "$file: hash of what is packed"
  rm -r packed
}

replay aibrix.jsonl aibrix 5
replay aiperf.jsonl aiperf 3
replay apex.jsonl apex 5
replay azure.csv azure 6
replay bailian.jsonl bailian 7
replay blis.csv blis 5
replay burstgpt.csv burstgpt 6
replay guidellm.json guidellm 3
replay headroom.csv headroom 5
replay llmservingsim.jsonl llmservingsim 8
replay mooncake.jsonl mooncake 8
replay ragpulse/0_trace.jsonl ragpulse 5
replay splitwise.csv splitwise 5
replay table.csv table 5
replay tracelab.jsonl tracelab 5
replay tracelab_csv.csv tracelab_csv 7
replay vidur.csv vidur 5
replay vllm_bench.json vllm_bench 5

# Lengths without times, and sessions without a common clock, need an arrival process.
arrivals=(--set workload.arrivals.process=poisson --set workload.arrivals.request_rate=2)
for sample in sharegpt.json vidur_lengths.csv weka.jsonl; do
  expect_error 'arrivals: required' "$HEADROOM" run replay.json --trace "$samples/$sample"
done
expect_error 'has its own arrival times' "$HEADROOM" run replay.json \
  --trace "$samples/azure.csv" "${arrivals[@]}"
replay sharegpt.json sharegpt 3 "${arrivals[@]}"
replay vllm_custom.jsonl vllm_custom 3 "${arrivals[@]}"
replay vidur_lengths.csv vidur 5 "${arrivals[@]}"
replay weka.jsonl weka 9 "${arrivals[@]}"

# Every sample, and every format that an unknown file could have had.
replayed[servegen]=1 replayed[blis.yaml]=1
for sample in "$samples"/*; do
  [[ -n ${replayed[$(basename "$sample")]-} ]] || fail "$sample is not replayed"
done
echo 'no trace' >unknown.txt
expect_error 'unknown trace format' "$HEADROOM" run replay.json --trace unknown.txt
for format in $("$HEADROOM" run replay.json --trace unknown.txt 2>&1 | grep -oE '  [a-z_]+: ' |
  tr -d ': '); do
  [[ -n ${formats[$format]-} ]] || fail "no sample of format $format is replayed"
done

# A pipe is a file, too; its content is hashed all the same.
run replay.json --trace <(cat "$samples/azure.csv") -o pipe
cmp pipe/requests.csv traces/azure.csv/requests.csv || fail 'a pipe'
grep -q "$(sha256sum "$samples/azure.csv" | cut -d' ' -f1)" pipe/summary.json || fail 'pipe: hash'

# Sessions by their times, or each turn after the answer before.
run replay.json --trace "$samples/tracelab_csv.csv" --set workload.trace.sessions=closed -o closed
completed closed
[[ $(number closed/summary.json finished) == 7 ]] || fail 'closed: 7 requests'
expect_error 'sessions is open' "$HEADROOM" run replay.json \
  --trace "$samples/llmservingsim.jsonl" --set workload.trace.sessions=open

# Transformations: three copies at half speed, without what is longer than 1,000 tokens.
run replay.json --trace "$samples/azure.csv" --set workload.trace.copies=3 \
  --set workload.trace.rate_scale=0.5 --set workload.trace.max_prompt_tokens=1000 -o transformed
completed transformed
[[ $(number transformed/summary.json finished) == 18 ]] || fail '3 x 6 requests'
[[ $(number transformed/summary.json rows_of_copies) == 12 ]] || fail 'rows of copies'
[[ $(number transformed/summary.json prompts_capped) == 2 ]] || fail 'two prompts are longer'
awk -F, 'NR > 1 && $9 > 1000 { exit 1 }' transformed/requests.csv || fail 'a prompt is longer'

# A client pool.
for out in pool pool-again; do
  run replay.json --set "workload.servegen.directory=$samples/servegen" -o $out
done
completed pool
same pool pool-again
(($(number pool/summary.json finished) > 0)) || fail 'the pool gave no request'

# --- example scenarios ---

examples='closed-loop chat-sessions mixed-classes bursty diurnal impatient rag'
for name in $examples; do
  run $name -o examples/$name
  completed examples/$name
  run "$HEADROOM_SOURCE_DIR/scenarios/$name.json" -o again
  same examples/$name again
  rm -r again
  if [[ $name != impatient ]]; then
    [[ $(number examples/$name/summary.json cancelled) == 0 ]] || fail "$name: someone gave up"
  fi
  [[ $(number examples/$name/summary.json rejected) == 0 ]] || fail "$name: rejected"
done
for name in chat-sessions impatient; do
  run $name --single-step -o single
  same examples/$name single
  rm -r single
done

# Turns wait for answers: no more requests at a time than users; more users ask more.
run closed-loop --set workload.closed_loop.users=20 --set output.timeline_interval_s=0.5 -o users
awk -F, 'NR > 1 && $3 + $4 > 20 { exit 1 }' users/timeline.csv || fail 'more requests than users'
(($(number users/summary.json arrived) < $(number examples/closed-loop/summary.json arrived))) ||
  fail 'fewer users ask less'

# What shares prefixes finds them, unless the cache is off, which is said.
for name in chat-sessions rag; do
  (($(number examples/$name/summary.json prefix_cache_hits) > 0)) || fail "$name: no hits"
done
run chat-sessions --set engine.enable_prefix_caching=false -o uncached
grep -q 'prompts of different requests share prefixes' uncached/summary.json || fail 'warning'
(($(number uncached/summary.json prefix_cache_hits) == 0)) || fail 'hits without a cache'
grep -q '"sessions": ' examples/chat-sessions/summary.json || fail 'sessions are counted'

# --- clients that give up ---

# Patience of 2 s for the first token, 30 s for the answer. Columns: 4 arrival, 7 first token,
# 8 finish, 13 outcome. A token that comes too late, with the step in flight, is the last one.
run impatient --set workload.patience.first_token.law=fixed \
  --set workload.patience.first_token.mean_s=2 --set workload.patience.first_token.min_s=null \
  -o fixed
completed fixed
cancelled=$(awk -F, '$13 == "cancelled"' fixed/requests.csv | wc -l)
((cancelled > 0)) || fail 'nobody gave up'
[[ $(number fixed/summary.json cancelled) == "$cancelled" ]] || fail 'cancelled are counted'
awk -F, '
  function refuse(why) { print why ": " $0; bad = 1; exit 1 }
  NR == 1 { next }
  { early = $7 != "" && $7 - $4 <= 2e9 }
  $13 == "finished" && (!early || $8 - $4 > 30e9) { refuse("finished for nobody") }
  $13 == "cancelled" && $8 - $4 < (early ? 30e9 : 2e9) { refuse("gave up before its time") }
  $13 == "cancelled" && !early && $7 != "" && $8 > $7 { refuse("stayed without a client") }
  END { exit bad }' fixed/requests.csv || fail 'patience'

# --- classes ---

# class NAME: its part of the summary.
class() {
  sed -n '/^  "classes": {/,/^  }/p' examples/mixed-classes/summary.json |
    sed -n "/^    \"$1\": {/,/^    }/p" >class.json
}
all=0
for name in interactive batch; do
  class $name
  accounted class.json
  all=$((all + $(number class.json arrived)))
  for key in request_goodput request_throughput median_ttft_ms p99_e2el_ms; do
    awk -v value="$(number class.json $key)" 'BEGIN { exit !(value > 0) }' ||
      fail "class $name: $key is '$(number class.json $key)'"
  done
  awk -v good="$(number class.json request_goodput)" \
    -v all="$(number class.json request_throughput)" 'BEGIN { exit !(good <= all) }' ||
    fail "class $name: more goodput than throughput"
done
[[ $all == $(number examples/mixed-classes/summary.json arrived) ]] || fail 'sum of classes'

# The classes of a trace are classes of the results.
grep -q '"GPT-4": {' traces/burstgpt.csv/summary.json || fail 'models of BurstGPT'
