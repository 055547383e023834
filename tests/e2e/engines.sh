#!/usr/bin/env bash
# Every engine serves a scenario from beginning to end: each request is accounted for, jumps give
# the same files as single steps, and `list engines` has a line for each.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Name and options of each; the pools are small enough for requests to wait or be preempted.
engines=(
  'vllm|max_model_len=8192 num_gpu_blocks_override=800'
  'vllm|max_model_len=8192 num_gpu_blocks_override=800 version="0.6"'
  'vllm|max_model_len=8192 num_gpu_blocks_override=800 scheduling_policy=priority
    long_prefill_token_threshold=256'
  'vllm|max_model_len=8192 num_gpu_blocks_override=800 scheduler=sglang'
  'trtllm|max_seq_len=8192 max_tokens=16384'
  'trtllm|max_seq_len=8192 max_tokens=16384 capacity_scheduler_policy=MAX_UTILIZATION
    enable_chunked_prefill=true context_chunking_policy=EQUAL_PROGRESS'
  'trtllm|max_seq_len=8192 max_tokens=16384 capacity_scheduler_policy=STATIC_BATCH'
  'sglang|context_length=8192 max_total_tokens=16384'
  'vllm|max_model_len=8192 num_gpu_blocks_override=400 scheduler=sglang block_size=48'
  'sglang|context_length=8192 max_total_tokens=16384 schedule_policy=lpm enable_mixed_chunk=true'
  'tgi|max_input_tokens=4096 max_total_tokens=8192 max_batch_total_tokens=16384'
  'tgi|max_input_tokens=4096 max_total_tokens=8192 enable_chunked_prefill=false'
  'llamacpp|parallel=8 ctx_size=65536'
  'ollama|num_parallel=4 num_ctx=8192'
  'hf|max_batch_size=4 max_new_tokens=512'
  'fastertransformer|max_batch_size=2 max_input_tokens=2048 max_new_tokens=512'
  'sarathi|max_model_len=8192'
  'orca|max_model_len=8192 kv_placement=best_fit kv_compaction=true'
  'orca|max_model_len=8192 kv_placement=buddy kv_reservation=pow2'
  'static|max_model_len=8192 kv_placement=next_fit'
  'static|max_model_len=8192 kv_placement=buddy num_gpu_blocks_override=1500'
  'sglang|scheduler=vllm chunked_prefill_size=512 context_length=8192 max_total_tokens=16384'
  'llamacpp|'
)

"$HEADROOM" list engines >listed.txt
run=0
for row in "${engines[@]}"; do
  engine=${row%%|*}
  grep -q "^$engine " listed.txt || fail "list engines: no $engine"
  settings=(--set "engine={\"name\":\"$engine\"}" --set workload.num_requests=300
    --set workload.arrivals.request_rate=6 --set workload.prompt.max=2048
    --set workload.output.max=512)
  for setting in ${row#*|}; do settings+=(--set "engine.$setting"); done
  # One way of running out of memory is a result like any other: exit code 2 alone is bad input.
  code=0
  "$HEADROOM" run demo "${settings[@]}" -o "jump$run" >out.txt 2>&1 || code=$?
  ((code != 2)) || fail "$row: $(cat out.txt)"
  accounted "jump$run/summary.json"
  (($(number "jump$run/summary.json" finished) > 0)) || fail "$row: nothing finished"
  "$HEADROOM" run demo "${settings[@]}" --single-step -o "step$run" >out.txt 2>&1 || true
  for file in summary.json requests.csv timeline.csv events.jsonl; do
    cmp "jump$run/$file" "step$run/$file" || fail "$row: $file"
  done
  ((++run))
done


# SGLang: steps with prompts run in captured graphs from 0.5.10 on, of latent attention not from
# 0.5.15 on. Outside of them the host's launches take longer than the device.
cat >sgl.json <<'JSON'
{
  "model": "qwen3-8b",
  "device": "h200-sxm",
  "engine": {"name": "sglang", "version": "0.5.15"},
  "workload": {"prompt": 100, "output": 10, "num_requests": 2, "arrivals": {"request_rate": 1}}
}
JSON
# slower A B: with the settings A a prompt of 128 tokens takes over 1.5 times as long as with B.
slower() {
  local one
  for one in "$1" "$2"; do
    # shellcheck disable=SC2086 # several settings
    "$HEADROOM" step sgl.json $one --chunks 1 --chunk-tokens 128 | awk '/^  step /{print $4}'
  done | paste -s | awk '{exit !($1 > 1.5 * $2)}' || fail "$1 is not slower than $2"
}
slower '--set engine.version=0.5.9' '--set engine.version=0.5.10'
slower '--set engine.piecewise_cuda_graph=false' '--set engine.version=0.5.15'
latent='--set model=deepseek-v3 --set engine.tensor_parallel_size=8'
slower "$latent --set engine.version=0.5.15" "$latent --set engine.version=0.5.10"

# Its drafts: jumps over steps give the same bytes as single steps, where the pool is too small for
# all rows, with copies of a request, in trees, and on data ranks whose prompts pause all decodes.
same_in_single_steps() {
  "$HEADROOM" run small.json "$@" --json >jumps.json || fail "$*"
  "$HEADROOM" run small.json "$@" --set run.single_step=true --json >steps.json
  [[ $(grep '"digest"' jumps.json) == $(grep '"digest"' steps.json) ]] || fail "differs: $*"
  [[ $(number jumps.json arrived) -gt 0 && $(number jumps.json completed) -gt 0 ]] || fail "$*"
}
small_scenario >small.json
drafts='"speculative_config":{"method":"eagle3","num_speculative_tokens":3}'
engine="engine={\"name\":\"sglang\",\"version\":\"0.5.15\",$drafts"
same_in_single_steps --set "$engine}"
same_in_single_steps --set "$engine,\"max_total_tokens\":1000}"
[[ $(number jumps.json preemptions) -gt 0 ]] || fail 'nobody is retracted'
same_in_single_steps --set "$engine}" --set workload.n=3
tree='"speculative_eagle_topk":4,"speculative_num_draft_tokens":8'
same_in_single_steps --set "$engine,$tree}"
ranks='"tensor_parallel_size":4,"data_parallel_size":2,"max_total_tokens":2000'
same_in_single_steps --set model=deepseek-v3 --set device=h200-sxm \
  --set "${engine/eagle3/mtp},$ranks}"
