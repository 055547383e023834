#!/usr/bin/env bash
# capacity, audit, from and validate as a user calls them, and their refusals.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# in OUTPUT-FILE TEXT
has() { grep -qF -- "$2" "$1" || fail "'$2' is not in $1: $(cat "$1")"; }

# The capacity table of an H100 with 85 % of what the weights leave: 504, 126, 31, 7 requests.
"$HEADROOM" capacity --model qwen2.5-7b --device h100-sxm --set device.memory_total_gib=79.1 \
  --set engine.dtype=float16 --usable-fraction 0.85 --context 2k,8k,32k,128k --json >table.json
# 0.85 x (79.1 GiB - 15,231,233,024 bytes) in tokens of 57,344 bytes.
has table.json '"kv_pool_bytes": 59246444544'
for requests in 504 126 31 7; do has table.json "\"max_concurrent\": $requests,"; done

# 60 GiB of KV: 30,720 blocks of Llama-3.1-8B.
"$HEADROOM" capacity --model llama-3.1-8b --device h200-sxm \
  --set engine.kv_cache_memory_bytes=64424509440 >sixty.txt
has sixty.txt '30,720 blocks x 16 tokens'

# The hand worksheet, as written and corrected.
"$HEADROOM" capacity --worksheet --model llama_70b --context 8192 --concurrency 10 \
  --gpu-memory-gb 80 --set engine.tensor_parallel_size=4 >worksheet.txt
has worksheet.txt 'max concurrent                      2          8           61'

for flags in '--concurrency 0' '--concurrency -2' '--weights-gb -1' '--gpu-memory-gb -1' \
  '--overhead-gb -1' '--kv-bytes-per-token -1'; do
  read -r -a words <<<"$flags"
  expect_error "$flags: expected " "$HEADROOM" capacity --worksheet --model llama_70b "${words[@]}"
  expect_error "$flags: expected " "$HEADROOM" capacity --model llama-3.1-8b --device h100-sxm \
    "${words[@]}"
done

# A container changes nothing on a discrete device, and the tool says so.
"$HEADROOM" capacity --model llama-3.1-8b --device h100-sxm --environment native,docker >docker.txt
has docker.txt 'a container does not change it'
has docker.txt '1.000'

# A config.json as it is published; one of an unknown architecture is read by its fields.
cat >config.json <<'JSON'
{"architectures": ["LlamaForCausalLM"], "torch_dtype": "bfloat16", "hidden_size": 4096,
 "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
 "intermediate_size": 14336, "vocab_size": 128256, "max_position_embeddings": 131072}
JSON
"$HEADROOM" capacity --model ./config.json --device h100-sxm >own.txt
has own.txt '14.99 GiB'
sed 's/LlamaForCausalLM/MyOwnForCausalLM/' config.json >unknown.json
"$HEADROOM" capacity --model ./unknown.json --device h100-sxm >unknown.txt
has unknown.txt '14.99 GiB'
has unknown.txt 'MyOwnForCausalLM'
echo '{"architectures": ["LlamaForCausalLM"]}' >override.json
"$HEADROOM" capacity --model ./unknown.json --device h100-sxm \
  --set model_override=override.json >overridden.txt
has overridden.txt '14.99 GiB'
sed 's/"hidden_size": 4096,//' config.json >short.json
expect_error 'hidden_size' "$HEADROOM" capacity --model ./short.json --device h100-sxm
expect_error '/engine/tensor_parallel_size: ' "$HEADROOM" capacity --model llama-3.1-8b \
  --device h100-sxm --set engine.tensor_parallel_size=5
expect_error '/engine/kv_cache_dtype: ' "$HEADROOM" capacity --model llama-3.1-8b \
  --device h100-sxm --set engine.kv_cache_dtype=fp3
expect_error '/engine/gpu_memory_utilization: ' "$HEADROOM" capacity --model llama-3.1-8b \
  --device h100-sxm --set engine.gpu_memory_utilization=1.2
expect_error '/engine/kv_cache_dtype: ' "$HEADROOM" capacity --model llama-3.1-8b \
  --device h100-sxm --engine llamacpp --set engine.kv_cache_dtype=fp8
expect_error '--set engine.max_model_len=0: /engine/max_model_len: value 0: ' "$HEADROOM" capacity \
  --model llama-3.1-8b --device h100-sxm --set engine.max_model_len=0

# A command becomes a scenario; what it does not know is said.
"$HEADROOM" from 'vllm serve meta-llama/Llama-3.1-8B-Instruct -tp 2 --max-model-len 32k --frob 3' \
  --device h100-sxm >from.json
has from.json '//   --frob'
has from.json '"max_model_len": 32000'
"$HEADROOM" audit from.json >audit.txt
has audit.txt 'weights'
expect_error 'vllm serve' "$HEADROOM" from 'rm -rf everything'
# Without quotes its flags would mix with those of this program.
quotes="quote the whole command: headroom from 'vllm serve ...'"
expect_error "$quotes" "$HEADROOM" from vllm serve m
expect_error "$quotes" "$HEADROOM" from vllm serve m --device h100-sxm
expect_error "$quotes" "$HEADROOM" from vllm serve m --max-model-len 4096 -tp 2
"$HEADROOM" from -- vllm serve m --max-model-len 4096 >words.json
"$HEADROOM" from 'vllm serve m --max-model-len 4096' | cmp - words.json ||
  fail 'words behind -- are not the quoted command'
expect_error "$quotes" "$HEADROOM" from 'vllm serve m' --frob
expect_error 'a command or a file is missing' "$HEADROOM" from --device h100-sxm
"$HEADROOM" from --device h100-sxm --set engine.block_size=32 -- 'vllm serve m' >flags.json
has flags.json '"block_size": 32'
# A release stays the text that was written, and what comes out runs.
"$HEADROOM" from 'vllm serve meta-llama/Llama-3.1-8B-Instruct --speculative-config.method ngram' \
  --device h100-sxm --set engine.version=0.20 >release.json
has release.json '"version": "0.20"'
has release.json '"method": "ngram"'
if grep -q "the engine's release is not named" release.json; then fail 'a release was named'; fi
"$HEADROOM" capacity release.json >release.txt
has release.txt 'vllm 0.20'
# Figures of the worksheet have no meaning for an engine's rule.
expect_error '--concurrency 20: has no effect without --worksheet' "$HEADROOM" capacity \
  --model llama-3.1-8b --device h100-sxm --concurrency 20
expect_error '--overhead-gb 3: has no effect without --worksheet' "$HEADROOM" capacity \
  --model llama-3.1-8b --device h100-sxm --overhead-gb 3
expect_error '/environment/processes_gib: has no effect: h100-sxm has its own memory' \
  "$HEADROOM" capacity --model llama-3.1-8b --device h100-sxm --set environment.processes_gib=20

# A start-up log: beside the model, and as a scenario.
cat >server.log <<'LOG'
INFO 10-01 12:00:00 [core.py:58] Initializing a V1 LLM engine (v0.19.0) with config: \
model='meta-llama/Llama-3.1-8B-Instruct', dtype=torch.bfloat16, max_seq_len=8192, \
tensor_parallel_size=1, pipeline_parallel_size=1, quantization=None, kv_cache_dtype=auto
INFO 10-01 12:00:30 [gpu_model_runner.py:1000] Model loading took 14.99 GiB and 12.3 seconds
INFO 10-01 12:01:00 [gpu_worker.py:298] Available KV cache memory: 54.10 GiB
LOG
sed -i -z 's/\\\n//g' server.log
"$HEADROOM" audit server.log --device h100-sxm >log.txt
has log.txt 'memory for KV          54.10       54.15     -0.05'
"$HEADROOM" from server.log --device h100-sxm >log.json
has log.json '"max_model_len": 8192'
"$HEADROOM" capacity log.json >log_capacity.txt
has log_capacity.txt '54.15 GiB'
expect_error 'missing.log: no such file' "$HEADROOM" from server.log missing.log
expect_error 'server.log: expected one file' "$HEADROOM" from server.log server.log

# What does not start gets the smallest change that makes it; a foreign log is refused.
"$HEADROOM" audit llama-70b-does-not-fit >fix.txt
has fix.txt 'DOES NOT START'
has fix.txt 'engine.tensor_parallel_size 1 -> 4'
for tokens in 0 -7; do
  expect_error "--context $tokens: expected at least 1 token" "$HEADROOM" audit demo \
    --context "$tokens"
done
printf 'nginx started\nlistening on 80\n' >other.log
expect_error 'other.log' "$HEADROOM" audit other.log
expect_error 'vllm019_h100_startup.csv' "$HEADROOM" validate memory .

# Scores against measured start-ups, where they are.
facts=$HEADROOM_SOURCE_DIR/../shared/groundtruth/memory_facts
if [[ -d $facts ]]; then
  "$HEADROOM" validate memory "$facts" >facts.txt
  has facts.txt 'all of vLLM 0.19 on H100    32  0.12 %  0.44 %'
else
  echo 'skipped: no measured start-ups in ../shared/groundtruth/memory_facts'
fi

# A request longer than the engine takes is refused, not out of memory.
small_scenario >long.json
"$HEADROOM" run long.json --set engine.max_model_len=256 -o long >long.txt
grep -q '^refused .*longer than the engine accepts (max_model_len)' long.txt || fail 'not refused'
! grep -q '^OOM' long.txt || fail 'a refused request is listed as OOM'
grep -q '"oom": \[\]' long/summary.json || fail 'summary.json lists an OOM'
grep -q '"kind": "context_length_exceeded"' long/summary.json || fail 'no kind of the refusal'
accounted long/summary.json

# Engines of one compose file share their device: who starts, who fails, and what to change.
cat >shared.yaml <<'YAML'
services:
  chat:
    image: vllm/vllm-openai:v0.19.0
    command: --model Qwen/Qwen2.5-7B-Instruct --max-model-len 8192
    depends_on: { small: { condition: service_healthy } }
    gpus: all
  small:
    image: lmsysorg/sglang:v0.5.4
    command: >
      python3 -m sglang.launch_server --model-path Qwen/Qwen2.5-1.5B-Instruct
      --mem-fraction-static 0.3
    gpus: all
  local:
    image: ollama/ollama:0.9.0
    gpus: all
  web:
    image: ghcr.io/open-webui/open-webui:main
YAML
expect_error '--device' "$HEADROOM" audit shared.yaml --set local:model=llama-3.1-8b
expect_error '--set local:model=MODEL' "$HEADROOM" audit shared.yaml --device l40s
expect_error 'no such service' "$HEADROOM" audit shared.yaml --device l40s --set lokal:model=a
local=(--set local:model=llama-3.1-8b)
"$HEADROOM" audit shared.yaml --device l40s "${local[@]}" >shared.txt
grep -q '^verdict  *DOES NOT START: chat: free memory' shared.txt || fail "$(cat shared.txt)"
grep -q '^order  *small, then chat, then local' shared.txt || fail "$(cat shared.txt)"
grep -q 'chat: engine.gpu_memory_utilization 0.9 -> ' shared.txt || fail "$(cat shared.txt)"
grep -q 'chat before local is the order of the file' shared.txt || fail "$(cat shared.txt)"
share=$(sed -n 's/.*chat: engine.gpu_memory_utilization 0.9 -> \([0-9.]*\):.*/\1/p' shared.txt |
  head -1)
"$HEADROOM" audit shared.yaml --device l40s "${local[@]}" \
  --set "chat:engine.gpu_memory_utilization=$share" --json >shared.json
has shared.json '"all_start": true'
# One of them beside the others, as a scenario and in an audit of its own.
"$HEADROOM" from shared.yaml --service chat --device l40s "${local[@]}" >chat.json
has chat.json '"memory_used_gib"'
has chat.json 'of its device the services before it hold: small'
"$HEADROOM" audit shared.yaml --service chat --device l40s "${local[@]}" >chat.txt
grep -q '^verdict  *DOES NOT START: free memory' chat.txt || fail "$(cat chat.txt)"
expect_error '--service: value chet: no such service' \
  "$HEADROOM" audit shared.yaml --service chet --device l40s "${local[@]}"

# A mistake of another service is a note of the one that is asked about.
"$HEADROOM" audit shared.yaml --service chat --device l40s >chat.txt
tr -s '\n ' ' ' <chat.txt | grep -q 'local is left out, and what it holds of the device is not' ||
  fail "$(cat chat.txt)"
tr -s '\n ' ' ' <chat.txt | grep -q 'the services before it hold: small' || fail "$(cat chat.txt)"
sed 's/Qwen2.5-1.5B-Instruct/Unheard-of/' shared.yaml >broken.yaml
"$HEADROOM" ask broken.yaml --service chat --device l40s --rate 1 --in 500 --out 50 >chat.txt
tr -s '\n ' ' ' <chat.txt | grep -q 'small is left out' || fail "$(cat chat.txt)"
"$HEADROOM" from broken.yaml --service chat --device l40s >chat.json
has chat.json 'small is left out'
expect_error 'small: /model: unknown model' \
  "$HEADROOM" audit broken.yaml --service small --device l40s

# A flag that says nothing about what is audited is refused.
expect_error '--model' "$HEADROOM" audit demo --model llama-3.1-8b
expect_error '--device' "$HEADROOM" audit demo --device l40s
expect_error '--environment' "$HEADROOM" audit demo --environment docker
expect_error '--gpu' "$HEADROOM" audit demo --gpu 0
expect_error '--service' "$HEADROOM" audit demo --service chat
echo 'ValueError: No available memory for the cache blocks.' >tail.log
expect_error '--concurrency' "$HEADROOM" audit tail.log --concurrency 4

# Bars without the device's total: what is known is drawn, what is not is said.
{
  echo 'INFO Model loading took 14.99 GiB'
  printf 'ValueError: To serve at least one request with the models max seq len (131072), (16.00 '
  printf 'GiB KV cache is needed, which is larger than the available KV cache memory (5.45 GiB). '
  echo 'Based on the available memory, the estimated maximum model length is 44672.'
} >longest.log
"$HEADROOM" audit longest.log >bars.txt
grep -qE '^weights +#+\.+ +14.99 GiB$' bars.txt || fail "$(cat bars.txt)"
grep -q '^not known  *the device' bars.txt || fail "$(cat bars.txt)"
"$HEADROOM" audit longest.log --device rtx4090 >bars.txt
grep -qE '^rest +#+\.+ +[0-9.]+ GiB' bars.txt || fail "no rest: $(cat bars.txt)"

# A start that went well: the log's figures as bars, beside those of the modelled start.
cat >started.log <<'LOG'
[2025-10-16 09:05:01] server_args=ServerArgs(model_path='Qwen/Qwen3-8B', tp_size=1, \
context_length=8192)
[2025-10-16 09:05:09] Load weight end. type=Qwen3, avail mem=62.95 GB, mem usage=15.27 GB.
[2025-10-16 09:05:10] KV Cache is allocated. #tokens: 387968, K size: 26.64 GB, V size: 26.64 GB
[2025-10-16 09:05:20] Capture cuda graph end. Time elapsed: 5 s. mem usage=1.44 GB. \
avail mem=8.05 GB.
LOG
sed -i -z 's/\\\n//g' started.log
"$HEADROOM" audit started.log --device h100-sxm >started.txt
has started.txt 'NO SHORTAGE: '
has started.txt 'qwen3-8b on h100-sxm'
grep -qE '^weights +#+\.+ +15.27 GiB +19.3 %   predicted [0-9.]+$' started.txt ||
  fail "$(cat started.txt)"
grep -qE '^KV +#+\.+ +53.28 GiB .* predicted [0-9.]+$' started.txt || fail "$(cat started.txt)"
has started.txt 'left          8.05 GiB free after the start'
has started.txt '387,968 tokens of KV'
"$HEADROOM" audit started.log --device h100-sxm --json | grep -q '"predicted"' || fail 'no JSON'
"$HEADROOM" audit - <started.log >started.txt # the device is not in the log
has started.txt '--device DEVICE'
sed 1d started.log | "$HEADROOM" audit - --model qwen3-8b --device h100-sxm >started.txt
has started.txt 'qwen3-8b on h100-sxm'
expect_error 'unknown model' "$HEADROOM" audit started.log --model qwen99 --device h100-sxm
head -1 started.log >settings.log
expect_error 'a log of SGLang without figures of its memory' "$HEADROOM" audit settings.log
printf '(EngineCore_DP0 pid=1) INFO [gpu_worker.py:456] Available KV cache memory: 17.36 GiB\n' |
  "$HEADROOM" audit - >started.txt # of vLLM, without the model
has started.txt 'NO SHORTAGE: '

# Numbers as scenario files have them.
"$HEADROOM" audit demo --context 8k --concurrency 1k >short.txt
"$HEADROOM" audit demo --context 8192 --concurrency 1000 | cmp - short.txt || fail 'not the same'
expect_error '--context' "$HEADROOM" audit demo --context 8q
