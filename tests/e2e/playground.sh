#!/usr/bin/env bash
# The playground: its simulator answers with the program's bytes, and its page works in a browser.
# Skipped where scripts/playground.sh has not built it, or not since the sources changed.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

here=$(dirname "${BASH_SOURCE[0]}")
source=$HEADROOM_SOURCE_DIR
playground=${HEADROOM_PLAYGROUND:-$source/build/playground}
skip() {
  echo "skipped: $*"
  exit 77
}
built=$playground/data/core.wasm.js
[[ -e $built ]] || skip 'no playground (scripts/playground.sh)'
command -v node >/dev/null || skip 'no node'
newer=$(find "$source"/{sim,scheduler,workloads,hardware,scenarios,playground,CMakeLists.txt} \
  -type f -newer "$built" ! -path '*/server/*' ! -path '*/app/*' ! -path '*/report/text/*' \
  ! -path '*/CMakeLists.txt' | head -n 1)
[[ -z $newer ]] || skip "$newer is newer than the playground (scripts/playground.sh)"

# --- the same bytes: the scenarios of tests/golden, other engines, devices and cost levels ---

# same NAME [PATH=VALUE...]: both simulate the ready scenario NAME.
number=0
same() {
  local name=$1
  shift
  local flags=() set= value
  for value in "$@"; do
    flags+=(--set "$value")
    set+="${set:+,}\"${value%%=*}\":${value#*=}"
  done
  "$HEADROOM" run "$name" "${flags[@]}" --json >"native$number.json" || true
  echo "{\"do\":\"run\",\"scenario\":\"$name\",\"set\":{$set}}" >>requests
  number=$((number + 1))
}
same demo
same demo engine.async_scheduling=false engine.num_gpu_blocks_override=2000 \
  workload.num_requests=2000
same demo 'engine={"name":"orca","max_model_len":16384}' workload.num_requests=2000
same demo 'engine={"name":"static","batch_wait_ms":200,"max_model_len":16384}' \
  workload.num_requests=1000 workload.arrivals.request_rate=1
same llama-70b-does-not-fit
same llama-8b-4090-thrash
same demo cost.level='"spec"'
same demo cost.level='"affine"'
same demo 'engine={"name":"trtllm","max_seq_len":16384,"max_num_tokens":16384}' \
  workload.num_requests=2000
same demo 'engine={"name":"sglang","context_length":16384}' workload.num_requests=2000
same demo model='"qwen3-30b-a3b"' engine.tensor_parallel_size=2 workload.num_requests=2000
same demo device='"l40s"' workload.num_requests=2000
for name in closed-loop chat-sessions mixed-classes bursty rag; do same "$name"; done

node "$here/playground_core.mjs" "$playground" <requests >answers || fail "$(tail -n 5 answers)"
node -e '
  const fs = require("fs");
  fs.readFileSync("answers", "utf8").trim().split("\n").forEach((line, i) => {
    const {summary, error} = JSON.parse(line);
    if (error) throw Error(error.sentence);
    fs.writeFileSync(`wasm${i}.json`, summary);
  });'
for ((i = 0; i < number; ++i)); do
  cmp "native$i.json" "wasm$i.json" || fail "other bytes: $(sed -n "$((i + 1))p" requests)"
done
echo "$number runs have the bytes of the program"

# --- the other calls ---

cat >calls <<'JSON'
{"do":"names"}
{"do":"from","command":"vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 32k"}
{"do":"from","compose":"services:\n chat:\n  image: vllm/vllm-openai:v0.19.0\n  command: --model a"}
{"do":"capacity","scenario":"demo","contexts":[8192]}
{"do":"audit","scenario":"demo"}
{"do":"scenario","scenario":"demo","set":{"engine.max_num_seqs":64}}
{"do":"run","scenario":"demo","set":{"engine.max_num_seq":64}}
{"do":"from","command":"vllm serve 'open"}
{"do":"nothing"}
{"scenario":1}
JSON
node "$here/playground_core.mjs" "$playground" <calls >answers || fail "$(tail -n 5 answers)"
expect() {
  sed -n "${1}p" answers | grep -qF -- "$2" || fail "no '$2' in: $(sed -n "${1}p" answers)"
}
expect 1 '"llama-3.1-8b"'
expect 2 'Qwen2.5-7B-Instruct'
expect 3 '\"a\"'
expect 4 'max_concurrent'
expect 5 'kv_pool'
expect 6 '--max-num-seqs 64'
expect 7 '"nearest":"'
expect 8 '"error"'
expect 9 'unknown call nothing'
expect 10 '"origin":"request"'

# --- the page ---

python=/usr/bin/python3  # Debian's, which has Debian's selenium
for need in chromium chromedriver; do
  command -v $need >/dev/null || { echo "page not looked at: no $need"; exit 0; }
done
$python -c 'import selenium' 2>/dev/null ||
  { echo 'page not looked at: no python3-selenium'; exit 0; }
$python "$here/playground_browser.py" "$playground"
"$HEADROOM" sweep downloads/playground-study.json -o study >swept || fail "$(tail -n 5 swept)"
grep -q '11 runs of 11 points' swept || fail "the study of the page: $(tail -n 5 swept)"
