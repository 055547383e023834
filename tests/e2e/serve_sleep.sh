#!/usr/bin/env bash
# Sleep mode of `headroom serve`: /sleep, /wake_up and /is_sleeping.
source "$(dirname "${BASH_SOURCE[0]}")/lib_serve.sh"

asleep() {
  curl -s "$url/is_sleeping" | grep -qx "{\"is_sleeping\":$1}" || fail "is_sleeping is not $1"
}
# takes LOW HIGH CURL_ARGUMENT...: the request is answered with 200 after LOW to HIGH ms.
takes() {
  local low=$1 high=$2 begin=${EPOCHREALTIME/./} ms
  shift 2
  [[ $(status "$@") == 200 ]] || fail "$*: $(cat answer.json)"
  ms=$(((${EPOCHREALTIME/./} - begin) / 1000))
  ((ms >= low && ms <= high)) || fail "$*: after $ms ms instead of $low to $high"
}
metric() { curl -s "$url/metrics" | sed -n "s/^vllm:$1{.*} //p" | head -n 1; }
ask() { # NAME FIELD...: a request for many tokens in the background; its answer goes to NAME.json
  local name=$1 fields=$2
  curl -sN "$url/v1/completions" -o "$name.json" \
    -d "{\"prompt\": \"some words to begin with\", \"ignore_eos\": true, $fields}" &
}

# Only if it is asked for, as with the engine.
serve demo
[[ $(status -X POST "$url/sleep") == 404 ]] || fail 'sleep mode without --enable-sleep-mode'
ends 0

# 16 GB of weights at PCIe's 64 GB/s are copied in 251 ms.
serve demo -o served --enable-sleep-mode --set environment.storage_gb_per_s=32
asleep false
words=$(printf 'word%.0s ' $(seq 300))
long="{\"prompt\": \"$words\", \"max_tokens\": 2}"
[[ $(status "$url/v1/completions" -d "$long") == 200 ]] || fail 'a prompt'
[[ $(status "$url/v1/completions" -d "$long") == 200 ]] || fail 'the same'
hits=$(metric prefix_cache_hits_total)
[[ $hits != 0.0 ]] || fail 'no prefix cache'

# Answers that are being made end for it: streams and others.
ask stream '"max_tokens": 3000, "stream": true'
stream=$!
ask whole '"max_tokens": 3000'
whole=$!
sleep 0.4
takes 200 2000 -X POST "$url/sleep?level=1"
wait "$stream" "$whole"
grep -q '"finish_reason":"abort"' stream.json || fail "$(tail -n 3 stream.json)"
tail -n 2 stream.json | grep -q DONE || fail 'the stream has no end'
grep -q '"finish_reason":"abort"' whole.json || fail "$(cat whole.json)"
asleep true
[[ $(status "$url/health") == 200 ]] || fail 'an engine that sleeps is not ill'
# A request waits, and one whose client goes is forgotten.
ask waits '"max_tokens": 3'
ask gone '"max_tokens": 3'
gone=$!
sleep 0.3
curl -s "$url/load" | grep -q '"server_load":2' || fail 'they do not wait'
kill "$gone"
[[ ! -s waits.json ]] || fail 'it is served asleep'
# The cache alone does not wake it up.
takes 0 1000 -X POST "$url/wake_up?tags=kv_cache"
asleep true
takes 200 2000 -X POST "$url/wake_up?tags=weights"
asleep false
for _ in $(seq 100); do
  [[ -s waits.json ]] && break
  sleep 0.05
done
grep -q '"completion_tokens":3' waits.json || fail "$(cat waits.json)"
# Nothing is left in the cache.
[[ $(status "$url/v1/completions" -d "$long") == 200 ]] || fail 'a prompt after it woke up'
[[ $(metric prefix_cache_hits_total) == "$hits" ]] || fail 'the KV cache survived'

# Answers can be waited for.
ask rest '"max_tokens": 100'
sleep 0.2
takes 300 5000 -X POST "$url/sleep?level=2&mode=wait"
grep -q '"completion_tokens":100' rest.json || fail "it did not wait: $(cat rest.json)"
# Level 2 drops the weights at once; they are read from storage again: 16 GB at 32 GB/s.
takes 400 2500 -X POST "$url/wake_up"
takes 0 1000 -X POST "$url/wake_up"

# Or kept: no time passes for them.
ask kept '"max_tokens": 60'
sleep 0.2
takes 0 1000 -X POST "$url/sleep?level=0&mode=keep"
sleep 1
[[ ! -s kept.json ]] || fail 'it goes on asleep'
takes 0 1000 -X POST "$url/wake_up"
for _ in $(seq 100); do
  [[ -s kept.json ]] && break
  sleep 0.05
done
grep -q '"completion_tokens":60' kept.json || fail "$(cat kept.json)"

for query in level=3 level=x mode=now 'level=1&mode=keep'; do
  [[ $(status -X POST "$url/sleep?$query") == 400 ]] || fail "$query is taken"
done
[[ $(status -X POST "$url/wake_up?tags=all") == 400 ]] || fail 'any tag is taken'
[[ $(status "$url/sleep") == 405 ]] || fail 'GET /sleep'
asleep false
ends 0
"$HEADROOM" run served/scenario.json -o replay >/dev/null
cmp served/requests.csv replay/requests.csv || fail 'the replay serves them otherwise'
[[ $(number served/summary.json cancelled) == 2 ]] || fail 'two were aborted'
accounted served/summary.json

# A server that is stopped asleep does not wait for those that wait.
serve demo --enable-sleep-mode --drain 1
takes 0 2000 -X POST "$url/sleep"
ask last '"max_tokens": 3'
sleep 0.2
ends 0
