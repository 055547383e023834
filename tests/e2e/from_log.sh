#!/usr/bin/env bash
# Start-up logs as people paste them become scenarios.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

has() { grep -qF -- "$2" "$1" || fail "'$2' is not in $1: $(cat "$1")"; }

cat >vllm.log <<'LOG'
(APIServer pid=1) INFO 11-02 10:00:01 [api_server.py:1839] vLLM API server version 0.11.0
(APIServer pid=1) INFO 11-02 10:00:01 [utils.py:233] non-default args: {'model_tag': \
'/hub/models--Qwen--Qwen3-8B/snapshots/b968', 'max_num_seqs': 64, 'enforce_eager': True, \
'enable_prefix_caching': False}
(EngineCore_DP0 pid=271) INFO 11-02 10:00:30 [gpu_model_runner.py:2653] Model loading took \
15.2683 GiB and 4.2 seconds
(EngineCore_DP0 pid=271) INFO 11-02 10:00:40 [gpu_worker.py:298] Available KV cache memory: \
50.2 GiB
LOG
cat >sglang.log <<'LOG'
[2025-10-16 09:05:01] server_args=ServerArgs(model_path='Qwen/Qwen3-8B', tp_size=2, \
mem_fraction_static=0.85, context_length=8192, dtype='auto', quantization=None, \
chunked_prefill_size=4096, log_level='info')
[2025-10-16 09:05:03 TP0] Load weight begin. avail mem=78.50 GB
[2025-10-16 09:05:09 TP1] Load weight end. type=Qwen3ForCausalLM, dtype=torch.bfloat16, avail \
mem=70.71 GB, mem usage=7.79 GB.
LOG
cat >llama.log <<'LOG'
$ ./llama-server -m Qwen2.5-14B-Instruct-Q4_K_M.gguf \
    -c 32768 -np 2
build: 6317 (8b696861) with cc (GCC) 13.3.0 for x86_64-linux-gnu
  Device 0: NVIDIA GeForce RTX 3090, compute capability 8.6, VMM: yes
load_tensors:        CUDA0 model buffer size =  8148.38 MiB
llama_context: n_ctx         = 32768
LOG
cat >mac.log <<'LOG'
ggml_metal_init: GPU name:   Apple M4 Max
ggml_metal_init: recommendedMaxWorkingSetSize  = 38654.71 MB
llama_model_loader: loaded meta data with 33 key-value pairs and 292 tensors from \
/m/Qwen3-8B-Q4_K_M.gguf (version GGUF V3 (latest))
load_tensors: Metal_Mapped model buffer size =  4455.34 MiB
LOG
cat >ollama.log <<'LOG'
time=2025-08-24T08:25:59.000Z level=INFO source=types.go:130 msg="inference compute" id=GPU-1 \
library=cuda variant=v12 compute=8.9 name="NVIDIA GeForce RTX 4090" total="23.6 GiB" \
available="22.9 GiB"
time=2025-08-24T08:26:00.300Z level=INFO source=server.go:383 msg="starting runner" cmd="ollama \
runner --ollama-engine --model /blobs/sha256-e8 --ctx-size 8192 --parallel 1"
time=2025-08-24T08:26:00.310Z level=INFO source=backend.go:310 msg="model weights" device=CUDA0 \
size="4.4 GiB"
LOG
cat >trtllm.log <<'LOG'
[TensorRT-LLM] TensorRT-LLM version: 1.1.0
[TRT-LLM] [I] engine args: {'model': 'Qwen/Qwen3-8B', 'tensor_parallel_size': 1, \
'max_batch_size': 32, 'max_seq_len': 8192}
[TRT-LLM] [I] Use 15.27 GB for model weights.
[TensorRT-LLM][INFO] Allocated 40.00 GiB for max tokens in paged KV cache (290000).
LOG
cat >tgi.log <<'LOG'
tgi-1  | 2025-06-12T09:00:00Z  INFO text_generation_launcher: Args {
tgi-1  |     model_id: "Qwen/Qwen3-8B",
tgi-1  |     num_shard: Some(
tgi-1  |         2,
tgi-1  |     ),
tgi-1  |     max_total_tokens: Some(
tgi-1  |         8192,
tgi-1  |     ),
tgi-1  | }
LOG

# Lines of a log are long; the break in the command of llama.log is its own.
sed -i -z 's/\\\n//g' vllm.log sglang.log ollama.log trtllm.log mac.log

# from_says FILE KEY...: what the scenario holds; its device is the caller's to add.
from_says() {
  local file=$1
  shift
  "$HEADROOM" from "$file" >"$file.json"
  for key in "$@"; do has "$file.json" "$key"; done
}
from_says vllm.log '"version": "0.11.0"' '"max_num_seqs": 64' '"enforce_eager": true' \
  '"enable_prefix_caching": false' 'Add "device"'
"$HEADROOM" capacity vllm.log.json --device h100-sxm >answer.txt
grep -q '^qwen3-8b on h100-sxm, vllm 0.11.0' answer.txt ||
  fail 'the folder of a cache is not its model'
from_says sglang.log '"tensor_parallel_size": 2' '"mem_fraction_static": 0.85' \
  '"chunked_prefill_size": 4096' 'the log prints every argument'
from_says llama.log '"device": "rtx3090"' '"version": "b6317"' '"ctx_size": 32768' '"parallel": 2'
{ cat llama.log; echo 'graph_reserve: failed to allocate compute buffers'; } >oom.log
from_says oom.log '"device": "rtx3090"' 'memory ran out in this log (line 7: '
"$HEADROOM" ask oom.log --users 1 >oom.txt
tr '\n' ' ' <oom.txt | grep -q '^TIGHT: may not start: memory ran out in this log, line 7: ' ||
  fail "$(cat oom.txt)"
from_says mac.log '"device": "m4-max-48"' '"model": "Qwen3-8B-Q4_K_M.gguf"'
from_says ollama.log '"device": "rtx4090"' '"num_ctx": 8192' 'the model is not named'
from_says trtllm.log '"max_batch_size": 32' '"max_seq_len": 8192' '"version": "1.1.0"'
from_says tgi.log '"name": "tgi"' '"tensor_parallel_size": 2' '"max_total_tokens": 8192'
"$HEADROOM" ask sglang.log --device h100-sxm | grep -q '^system  *qwen3-8b on 2 x h100-sxm' ||
  fail 'ask reads no log'

# What is audited has the arguments of its log: eager mode captures no graphs.
"$HEADROOM" audit vllm.log --model qwen3-8b --device h100-sxm >answer.txt
grep -q '^graphs  *-  *0\.00 ' answer.txt || fail "graphs in eager mode: $(cat answer.txt)"

# A method of checkpoints is not an option of its own: the checkpoint's name says it.
config="model='Qwen/Qwen3-32B-AWQ', quantization=awq_marlin, max_seq_len=8192"
sed "s|non-default args.*|Initializing a V1 LLM engine (v0.11.0) with config: $config|" vllm.log \
  >awq.log
"$HEADROOM" from awq.log >awq.json
! grep -q '"quantization"' awq.json || fail "$(cat awq.json)"
"$HEADROOM" ask awq.log --device l40s --rate 1 --in 500 --out 50 >answer.txt ||
  fail "$(cat answer.txt)"

# A device that cannot be the log's.
cat >held.log <<'LOG'
[2025-10-16 09:05:01] server_args=ServerArgs(model_path='Qwen/Qwen3-8B', tp_size=1)
[2025-10-16 09:05:09] Load weight end. type=Qwen3ForCausalLM, dtype=torch.bfloat16, avail \
mem=62.71 GB, mem usage=15.28 GB.
[2025-10-16 09:05:10] KV Cache is allocated. #tokens: 320000, K size: 21.97 GB, V size: 21.97 GB
LOG
"$HEADROOM" audit held.log --device a100-80 >/dev/null
expect_error "--device: value rtx4090: is not the log's: held.log has 43.94 GiB" \
  "$HEADROOM" audit held.log --device rtx4090
expect_error "--device: value rtx4090: is not the log's: vllm.log has 65.47 GiB" \
  "$HEADROOM" audit vllm.log --model qwen3-8b --device rtx4090

# TGI's pool beside the modelled one; a log of it without is none that audit explains.
expect_error 'a log of Text Generation Inference without figures' "$HEADROOM" audit tgi.log
echo '2025-06-12T09:00:30Z INFO text_generation_router: Setting max batch total tokens to 211000' \
  >>tgi.log
"$HEADROOM" audit tgi.log --device h100-sxm | grep -q '^pool  *211,000 tokens of KV' ||
  fail 'no pool of TGI'

# The first lines alone.
head -n 2 vllm.log >head.log
from_says head.log '"version": "0.11.0"' '"max_num_seqs": 64'

# One line alone, cut off, and a command as a list of words.
echo "INFO non-default args: {'model_tag': 'Qwen/Qwen3-8B', 'max_num_seqs': 8, 'max_mod" >line.log
from_says line.log '"max_num_seqs": 8' 'are cut off'
echo "Running ['vllm', 'serve', 'Qwen/Qwen3-8B', '--max_num_seqs', '8']" >words.txt
from_says words.txt '"model": "Qwen/Qwen3-8B"' '"max_num_seqs": 8'
expect_error 'no command that starts a known engine' "$HEADROOM" from "['--max_num_seqs', '8']"

# Values that no backend has.
expect_error "--linear-backend: value '1': one of auto, marlin, cutlass" \
  "$HEADROOM" from 'vllm serve Qwen/Qwen3-8B --linear-backend 1'
