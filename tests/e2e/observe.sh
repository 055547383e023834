#!/usr/bin/env bash
# A running server measured by `headroom observe`: what is sent, what is kept, and what servers that
# behave badly lead to. No times are compared.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
if ! command -v python3 >/dev/null; then
  echo 'skipped: no python3'
  exit 77
fi

servers=()
stop_servers() {
  for one in "${servers[@]}"; do kill "$one" 2>/dev/null || true; done
}
trap stop_servers EXIT

# serve ARGUMENT...: starts a stand-in server and sets `url`.
serve() {
  rm -f port.txt
  python3 -B "$HEADROOM_SOURCE_DIR/tests/support/openai_server.py" "$@" >port.txt 2>server.txt &
  servers+=($!)
  for _ in $(seq 200); do
    [[ -s port.txt ]] && break
    sleep 0.05
  done
  [[ -s port.txt ]] || fail "no server: $(cat server.txt)"
  url=http://127.0.0.1:$(cat port.txt)
}
# field FILE EXPRESSION: of the JSON document `d`.
field() {
  python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$@"
}
# is FILE EXPRESSION VALUE
is() {
  local found
  found=$(field "$1" "$2")
  [[ $found == "$3" ]] || fail "$1: $2 is $found, expected $3"
}
load=(--rate 200 --in 40 --out 6 --requests 30 --warmup 2)
system=(--model llama-3.1-8b --device h100-sxm --engine vllm@0.19)

# --- what is sent, and what is kept of it ---

serve --log sent.jsonl --split
"$HEADROOM" observe "$url" "${system[@]}" "${load[@]}" -o good >good.txt
grep -q '30 sent, 30 finished' good.txt || fail "$(cat good.txt)"
is good/observed.json 'd["requests"]["finished"]' 30
is good/observed.json 'd["metrics"]["total_input_tokens"]' 1200
is good/observed.json 'd["metrics"]["total_output_tokens"]' 180
is good/observed.json 'd["engine_by_metrics"], d["server_version"], d["end"]' \
  "('vllm', '0.33.0', 'complete')"
is good/observed.json 'd["load"]["prefix_hit_tokens"] * 4 == d["load"]["prefix_query_tokens"]' True
is good/observed.json 'd["load"]["most_kv_share"], d["load"]["preemptions"]' '(0.25, 0.0)'
is good/observed.json 'len(d["warmup"])' 2
# One probe, two requests for warm-up, thirty of the run; every prompt of its exact length, no two
# alike, all to be answered to their full length.
python3 - <<'PY' || fail 'what was sent'
import json
sent = [json.loads(line) for line in open("sent.jsonl")]
assert len(sent) == 33, len(sent)
assert [len(r["prompt"]) for r in sent] == [64] + [40] * 32
assert [r["max_tokens"] for r in sent] == [1] + [6] * 32
assert all(r["stream"] and r["ignore_eos"] and r["temperature"] == 0 for r in sent)
assert len({tuple(r["prompt"]) for r in sent}) == 33
PY
[[ $(wc -l <good/requests.csv) == 31 ]] || fail 'rows of requests.csv'
[[ $(wc -l <good/trace.csv) == 31 ]] || fail 'rows of trace.csv'

# The folder is a measured run, and its trace a workload.
"$HEADROOM" validate runs good --json >score.json || fail 'it is not read'
is score.json 'd["runs"][0]["data_set"], len(d["runs"][0]["metrics"])' "('good', 10)"
"$HEADROOM" run demo --trace good/trace.csv --json >replay.json
[[ $(number replay.json finished) == 30 ]] || fail 'its trace is not replayed'
# Measured data are not overwritten.
expect_error 'not overwritten' "$HEADROOM" observe "$url" "${load[@]}" -o good

# Without a system it is measured all the same, and left out of scores with the reason.
"$HEADROOM" observe "$url" "${load[@]}" -o alone --json >alone.json
cmp alone.json alone/observed.json
"$HEADROOM" validate runs alone >score.txt
grep -q 'does not say which system' score.txt || fail "$(cat score.txt)"

# Shared beginnings are equal tokens, and all behind them differs.
cat >shared.csv <<'CSV'
arrival_ns,prompt_tokens,output_tokens,prefix
0,40,3,7:16|9:8
200000000,50,2,7:16|9:8|4:16
400000000,30,4,7:16
CSV
serve --log shared.jsonl
"$HEADROOM" observe "$url" --trace shared.csv --warmup 0 -o shared >/dev/null
python3 - <<'PY' || fail 'shared beginnings'
import json
first, second, third = [json.loads(line)["prompt"] for line in open("shared.jsonl")][1:]
assert (len(first), len(second), len(third)) == (40, 50, 30)
assert first[:24] == second[:24] and first[:16] == third[:16]
assert first[24:40] != second[24:40] and first[16:30] != third[16:30]
PY
tail -n +2 shared/trace.csv | cut -d, -f2,3,5 >lengths.txt
[[ $(tr '\n' ' ' <lengths.txt) == '40,3,7:16|9:8 50,2,7:16|9:8|4:16 30,4,7:16 ' ]] ||
  fail "$(cat shared/trace.csv)"

# A closed loop: never more at once than users.
serve --log users.jsonl
"$HEADROOM" observe "$url" "${system[@]}" --users 3 --in 16 --out 4 --requests 12 -o users \
  >/dev/null
is users/observed.json 'd["concurrency"], d["requests"]["finished"]' '(3, 12)'
"$HEADROOM" validate runs users >/dev/null

# --- servers of other habits ---

# habit FAULT NOTE: it is measured, and the note says what is to be known.
habit() {
  serve --fault "$1"
  "$HEADROOM" observe "$url" "${load[@]}" -o "habit-$1" >said.txt || fail "$1: $(cat said.txt)"
  is "habit-$1/observed.json" 'd["requests"]["finished"]' 30
  tr -s '\n ' '  ' <said.txt | grep -qF -- "$2" || fail "$1: no '$2' in $(cat said.txt)"
}
habit no_metrics '/metrics: the server answers 404'
habit bad_metrics '/metrics: /metrics:1: not a line'
habit no_tokenizer 'prompts are token ids 1000 to 1999'
habit adds_bos 'the server adds 1 to each prompt'
is habit-adds_bos/observed.json 'd["metrics"]["total_input_tokens"]' 1200
habit refuses_ids 'prompts are words'
is habit-refuses_ids/observed.json 'd["prompts"]["tokens_per_word"], d["prompts"]["added_tokens"]' \
  '(2.0, 3)'
habit refuses_ignore_eos 'refuses ignore_eos'
habit no_usage 'does not count tokens'
is habit-no_usage/observed.json 'd["metrics"]["total_output_tokens"]' 180
habit early_end '30 answers have another length'
is habit-early_end/observed.json 'd["metrics"]["total_output_tokens"]' 90
habit wrong_usage 'more pieces than the server counts tokens'

# --- servers that are no use ---

refused() {
  serve --fault "$1"
  expect_error "$2" "$HEADROOM" observe "$url" "${load[@]}" -o refused
  [[ ! -e refused ]] || fail "$1 left a folder"
}
refused html "expected {\"data\""
refused two_models 'choose one with --served-model'
refused no_models '404'
refused no_tokens 'an answer without a token'
refused error_500 'the server answers 500: out of memory'
refused not_events 'not a stream of events'
refused needs_key '401: no key'
expect_error 'Connection refused' "$HEADROOM" observe http://127.0.0.1:1 "${load[@]}" -o refused

serve --fault two_models
"$HEADROOM" observe "$url" "${load[@]}" --served-model other -o other >/dev/null
is other/observed.json 'd["served_model"]' other
expect_error 'the server lists tiny, other' \
  "$HEADROOM" observe "$url" "${load[@]}" --served-model third -o refused

# The key is sent, and nowhere to be found afterwards.
serve --fault needs_key
TOKEN=secret "$HEADROOM" observe "$url" "${load[@]}" --api-key-env TOKEN -o keyed >keyed.txt
! grep -rq secret keyed keyed.txt || fail 'the key was stored'
expect_error 'no variable NOT_THERE' \
  "$HEADROOM" observe "$url" "${load[@]}" --api-key-env NOT_THERE -o refused

# --- servers that fail half-way: what was measured is kept ---

# fails FAULT CODE OUTCOME TEXT: after ten good requests (and the probe and the warm-up).
fails() {
  local code=0
  serve --fault "$1" --after 13
  "$HEADROOM" observe "$url" "${system[@]}" --users 1 --in 40 --out 6 --requests 30 --warmup 2 \
    --timeout "${5:-60}" -o "fails-$1" >said.txt 2>stderr.txt || code=$?
  [[ $code == "$2" ]] || fail "$1: exit code $code: $(cat said.txt stderr.txt)"
  is "fails-$1/observed.json" 'd["requests"]["finished"], d["requests"]["'"$3"'"]' '(10, 10)'
  tr -s '\n ' '  ' <said.txt | grep -qF -- "$4" || fail "$1: no '$4' in $(cat said.txt)"
  is "fails-$1/observed.json" 'd["end"]' server_lost
  "$HEADROOM" validate runs "fails-$1" | grep -q '10 of 20 requests failed' || fail "$1: scored"
}
fails garbage_event 3 broken_off 'an event that is no JSON object'
fails error_event 3 broken_off 'engine dead'
fails endless_line 3 broken_off 'an event of more than 1 MiB'
fails dies_in_answer 3 broken_off 'the server closed the connection'
fails dies_for_good 3 broken_off 'Connection refused'
fails error_500 3 refused 'the server answers 500: out of memory'
fails no_done 3 broken_off 'without [DONE]'
fails hangs 3 timed_out 'no complete answer within 0.2 s' 0.2

# --- the user ---

# Ctrl-C keeps what was measured; what was in flight is cut off and counts for nothing.
serve --fault hangs --after 13 --log hanging.jsonl
"$HEADROOM" observe "$url" "${system[@]}" --users 1 --in 40 --out 6 --requests 30 --warmup 2 \
  -o interrupted --seconds 3600 >said.txt 2>stderr.txt &
program=$!
for _ in $(seq 400); do
  [[ $(wc -l <hanging.jsonl) == 14 ]] && break
  sleep 0.05
done
kill -INT $program
code=0
wait $program || code=$?
[[ $code == 130 ]] || fail "interrupted: exit code $code: $(cat stderr.txt)"
is interrupted/observed.json 'd["end"], d["requests"]["finished"], d["requests"]["cut_off"]' \
  "('interrupted', 10, 1)"
"$HEADROOM" validate runs interrupted >/dev/null
[[ $(wc -l <interrupted/trace.csv) == 12 ]] || fail "$(cat interrupted/trace.csv)"

# Limits hold, whatever the workload wants.
serve
"$HEADROOM" observe "$url" --rate 5 --in 8 --out 2 --seconds 0.5 --requests 1000 --warmup 0 \
  -o short >said.txt
is short/observed.json 'd["end"], d["requests"]["sent"] < 20' "('seconds', True)"

# TLS: a certificate that nobody vouches for is refused, one that the system trusts is not.
if command -v openssl >/dev/null; then
  openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test -keyout key.pem -out cert.pem \
    -addext 'subjectAltName=IP:127.0.0.1' 2>/dev/null
  serve --tls cert.pem key.pem
  url=${url/http:/https:}
  expect_error 'certificate verify failed' "$HEADROOM" observe "$url" "${load[@]}" -o refused
  SSL_CERT_FILE=cert.pem "$HEADROOM" observe "$url" "${load[@]}" -o secure >/dev/null
  is secure/observed.json 'd["requests"]["finished"]' 30
  SSL_CERT_FILE=cert.pem expect_error 'certificate verify failed' \
    "$HEADROOM" observe "${url/127.0.0.1/localhost}" "${load[@]}" -o refused
fi

# A folder that was damaged is named with the place.
cp -r good damaged
for text in '{' '{"scenario": {}}' '{"headroom_observation": 1, "scenario": 5}'; do
  echo "$text" >damaged/observed.json
  expect_error 'damaged/observed.json' "$HEADROOM" validate runs damaged
done
cp good/observed.json damaged
sed -i '5s/.*/1,2/' damaged/trace.csv
expect_error 'trace.csv:5' "$HEADROOM" validate runs damaged

# Another machine, other schemes, secrets in URLs, wrong flags.
while IFS='|' read -r text arguments; do
  read -ra words <<<"$arguments"
  expect_error "$text" "$HEADROOM" observe "${words[@]}" -o refused
done <<LIST
add --remote|http://192.0.2.1:8000 --users 1
expected http:// or https://|ftp://127.0.0.1 --users 1
expected no user name|http://me:secret@127.0.0.1 --users 1
expected a port|http://127.0.0.1:99999 --users 1
expected no query|http://127.0.0.1/?key=1 --users 1
say how to load the server|http://127.0.0.1:1
give --rate or --users|http://127.0.0.1:1 --users 1 --rate 1
--seconds: expected 0.1|http://127.0.0.1:1 --users 1 --seconds 0
--requests: expected 1|http://127.0.0.1:1 --users 1 --requests 0
no such file|http://127.0.0.1:1 --trace nowhere.csv
--device|http://127.0.0.1:1 --users 1 --device h100-sxm,l40s
does not send such requests|http://127.0.0.1:1 demo --set workload.n=2
nearest: llama|http://127.0.0.1:1 --users 1 --model llama-3.1-8c --device h100-sxm
LIST
[[ ! -e refused ]] || fail 'a refused question left a folder'
