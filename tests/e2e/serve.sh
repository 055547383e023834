#!/usr/bin/env bash
# `headroom serve`: what clients are served is what `headroom run` says of the same requests.
source "$(dirname "${BASH_SOURCE[0]}")/lib_serve.sh"

# --- the playground beside it ---

mkdir -p ui/data
echo '<title>page</title>' >ui/index.html
echo 'Packed.put()' >ui/data/core.js
serve demo --ui ui
grep -q 'playground is at /ui/' served.txt || fail "$(cat served.txt)"
[[ $(status "$url/ui/") == 200 ]] || fail 'no page at /ui/'
grep -q page answer.json || fail "another page: $(cat answer.json)"
[[ $(curl -s -o answer.json -w '%{content_type}' "$url/ui/data/core.js") == text/javascript* ]] ||
  fail 'a script of another type'
curl -s -o page.html "$url/"
grep -q '<p><a href="ui/">' page.html || fail 'no link to it'
[[ $(curl -s -o answer.json -w '%{redirect_url}' "$url/ui") == "$url/ui/" ]] ||
  fail 'no way to /ui/'
for path in /ui/none /ui/data /ui/data/../../served.txt /ui/..%2fserved.txt; do
  [[ $(status --path-as-is "$url$path") == 404 ]] || fail "$path is there"
done
ends 0
expect_error 'scripts/playground.sh' "$HEADROOM" serve demo --ui ui/data

# --- what was served is what the trace gives ---

serve demo -o served
curl -s -o page.html "$url/"
grep -q '<p hidden><a href="ui/">' page.html || fail 'a link to no playground'
python3 -B "$client" "$url" load 60 3
ends 0
"$HEADROOM" run served/scenario.json -o replay >/dev/null
cmp served/requests.csv replay/requests.csv || fail 'the replay serves them otherwise'
cmp served/timeline.csv replay/timeline.csv || fail 'the replay has another load'
cmp served/events.jsonl replay/events.jsonl || fail 'the replay has other events'
[[ $(number served/summary.json finished) == 60 ]] || fail 'not all are served'
grep -q 'requests of clients' served.txt || fail "$(cat served.txt)"

# And clients saw it so. The bound is for a busy machine: an idle one is below a millisecond.
python3 - <<'PY' || fail 'clients were served at other times'
import csv, json, statistics
client_ms = json.load(open("served/summary.json"))["setup"]["client_latency_ms"]
rows = list(csv.DictReader(open("served/requests.csv")))
late = {"ttft_ms": [], "e2el_ms": []}
for one in json.load(open("client.json")):
    row = next(r for r in rows if int(r["prompt_tokens"]) == one["prompt_tokens"]
               and int(r["output_tokens"]) == one["tokens"])
    rows.remove(row)
    for name, end in (("ttft_ms", "first_token_ns"), ("e2el_ms", "finish_ns")):
        said = (int(row[end]) - int(row["arrival_ns"])) / 1e6 + client_ms
        late[name].append(one[name] - said)
assert not rows
for name, values in late.items():
    print(name, "median", round(statistics.median(values), 2), "max", round(max(values), 2))
    assert -0.5 < statistics.median(values) < 20, (name, values)
PY

# Clients that go, and what no client should send, are replayed, too.
serve demo -o hurt --set engine.max_num_seqs=8
python3 -B "$client" "$url" garbage 1
ends 0 INT
"$HEADROOM" run hurt/scenario.json -o hurt-replay >/dev/null
cmp hurt/requests.csv hurt-replay/requests.csv || fail 'clients that go are replayed otherwise'
[[ $(number hurt/summary.json cancelled) -ge 30 ]] || fail 'who went was served all the same'
accounted hurt/summary.json

# --- the API ---

serve demo
python3 -B "$client" "$url" api
ends 0

# Faster than time: an answer of 2,000 tokens takes 13 s of the engine.
serve demo --time-scale 100
begin=$SECONDS
[[ $(status "$url/v1/completions" \
  -d '{"prompt": "x", "max_tokens": 2000, "ignore_eos": true}') == 200 ]] || fail 'a long answer'
grep -q '"completion_tokens":2000' answer.json || fail "$(cat answer.json)"
((SECONDS - begin < 6)) || fail 'it took as long as in real time'
ends 0

# `observe` measures it like any server.
serve demo --time-scale 4
"$HEADROOM" observe "$url" --rate 20 --in 200 --out 20 --requests 40 --warmup 1 -o seen >/dev/null
grep -q '"finished": 40' seen/observed.json || fail 'observe did not finish'
grep -q '"engine_by_metrics": "vllm"' seen/observed.json || fail 'observe does not know it'
ends 0

# A key, and start-up time.
KEY=secret serve demo --api-key-env KEY --startup --set engine.restart_s=2 --served-model mine
[[ $(status "$url/health") == 503 ]] || fail 'up at once'
for _ in $(seq 100); do
  [[ $(status "$url/health") == 200 ]] && break
  sleep 0.05
done
[[ $(status "$url/v1/models") == 401 ]] || fail 'no key asked for'
[[ $(status -H 'Authorization: Bearer wrong!' "$url/v1/models") == 401 ]] ||
  fail 'any key will do'
curl -s -H 'Authorization: Bearer secret' "$url/v1/models" | grep -q '"id":"mine"' || fail 'the key'
ends 0

# An answer that is being made when the server is told to stop is made to its end.
serve demo -o drained
curl -s "$url/v1/completions" -o last.json \
  -d '{"prompt": "x", "max_tokens": 100, "ignore_eos": true}' &
last=$!
sleep 0.3
ends 0
wait "$last"
grep -q '"completion_tokens":100' last.json || fail "not drained: $(cat last.json)"
# Or broken off, when there is no time for that.
serve demo -o cut --drain 0
curl -sN "$url/v1/completions" \
  -d '{"prompt": "x", "max_tokens": 4000, "ignore_eos": true, "stream": true}' >last.txt &
last=$!
sleep 0.5
ends 0
! wait "$last" || fail 'an answer that is cut looks whole'
! grep -q DONE last.txt || fail 'an answer that is cut has an end'
"$HEADROOM" run cut/scenario.json -o cut-replay >/dev/null
cmp cut/requests.csv cut-replay/requests.csv || fail 'who was cut off is replayed otherwise'

# --- failures ---

# A crash: a broken stream, and nobody there until the engine is back.
serve demo --set fleet.replicas=1 \
  --set 'fleet.faults.crashes=[{"replica": 0, "at_s": 0.5, "down_s": 1}]'
! curl -sN "$url/v1/completions" -o broken.txt \
  -d '{"prompt": "x", "max_tokens": 4000, "ignore_eos": true, "stream": true}' ||
  fail 'an answer that is broken off looks whole'
tail -n 2 broken.txt | grep -q '"message":"the engine crashed"' || fail "$(tail broken.txt)"
[[ $(status "$url/health") == 503 ]] || fail 'up after a crash'
[[ $(status "$url/v1/completions" -d '{"prompt": "x"}') == 500 ]] ||
  fail "$(cat answer.json)"
sleep 1.2
[[ $(status "$url/v1/completions" -d '{"prompt": "x"}') == 200 ]] ||
  fail 'it does not come back'
ends 0
# Too many at once.
serve demo --set fleet.admission.policy=max_in_flight --set fleet.admission.max_in_flight=1 \
  --set fleet.replicas=1
curl -s "$url/v1/completions" -o last.json \
  -d '{"prompt": "x", "max_tokens": 400, "ignore_eos": true}' &
last=$!
sleep 0.3
[[ $(status "$url/v1/completions" -d '{"prompt": "x"}') == 429 ]] ||
  fail "no 429: $(cat answer.json)"
wait "$last"
ends 0

# Or too many of those that are not of the first priority.
serve demo --set fleet.admission.policy=priority --set fleet.admission.max_in_flight=2 \
  --set fleet.admission.low_share=0.5 --set fleet.replicas=1
curl -s "$url/v1/completions" -o last.json \
  -d '{"prompt": "x", "max_tokens": 400, "ignore_eos": true}' &
last=$!
sleep 0.3
[[ $(status "$url/v1/completions" -d '{"prompt": "x", "priority": 1}') == 429 ]] ||
  fail "no 429 for a low priority: $(cat answer.json)"
[[ $(status "$url/v1/completions" -d '{"prompt": "x", "priority": 0}') == 200 ]] ||
  fail "the first priority is turned away: $(cat answer.json)"
wait "$last"
ends 0

code=0
"$HEADROOM" serve llama-70b-does-not-fit --port 0 >fails.txt 2>&1 || code=$?
[[ $code == 4 ]] || fail "exit code $code when it does not fit"
grep -q 'OOM' fails.txt || fail "$(cat fails.txt)"

serve demo
expect_error 'cannot listen there' "$HEADROOM" serve demo --port "${url##*:}"
ends 0
expect_error '/fleet/replicas' "$HEADROOM" serve demo --set fleet.replicas=0
expect_error '/engine/max_num_seqs' "$HEADROOM" serve demo --set engine.max_num_seqs=0
expect_error '--host' "$HEADROOM" serve demo --host example.org
expect_error '--time-scale' "$HEADROOM" serve demo --time-scale 0
expect_error '--port' "$HEADROOM" serve demo --port 70000
expect_error 'no variable NOT_THERE' "$HEADROOM" serve demo --api-key-env NOT_THERE
expect_error '/engine/api_server_count' "$HEADROOM" serve api-server-saturated
expect_error '/fleet/routes' "$HEADROOM" serve fleet-cascade
expect_error 'no such file' "$HEADROOM" serve nothing-there
echo x >file
expect_error 'not a directory' "$HEADROOM" serve demo -o file
[[ -z $(find . -name '*.partial-*') ]] || fail 'left behind'
