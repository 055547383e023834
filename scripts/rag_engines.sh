#!/usr/bin/env bash
# The table of docs/studies/rag.md: one service, every engine, a growing share of requests that
# carry a ten-page document. For each: p90 of TTFT, and how memory ran out, if it did.
#   scripts/rag_engines.sh [PROGRAM]
set -euo pipefail
program=$(realpath "${1:-build/release/bin/headroom}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

shares=(0 0.05 0.1 0.2 0.3 0.5)
# Name, engine, and its own options: the length of the longest request, and batches that are as
# large as pays with short prompts.
engines=(
  'vllm|vllm|'
  'trtllm|trtllm|max_seq_len=12288'
  'trtllm, chunked context|trtllm|max_seq_len=12288 enable_chunked_prefill=true'
  'trtllm, MAX_UTILIZATION, chunked|trtllm|max_seq_len=12288 enable_chunked_prefill=true
    capacity_scheduler_policy=MAX_UTILIZATION'
  'sglang|sglang|context_length=12288'
  'tgi|tgi|max_input_tokens=11776 max_total_tokens=12288'
  'sarathi|sarathi|max_model_len=12288'
  'orca|orca|max_model_len=12288'
  'llamacpp, 8 slots|llamacpp|parallel=8 ctx_size=36864'
  'hf, batches of 8|hf|max_input_tokens=2048 max_new_tokens=512 max_batch_size=8 stream=true'
  'fastertransformer, batches of 4|fastertransformer|max_input_tokens=2048 max_new_tokens=512
    max_batch_size=4 stream=true'
)

value() { sed -n "s/^ *\"$2\": \([^,]*\),\{0,1\}$/\1/p" "$1" | head -n 1; }

cell() { # cell SUMMARY: p90 of TTFT, what became of requests, kinds of OOM
  local kinds lost preemptions rejected text
  if [[ $(value "$1" started) == false ]]; then
    echo 'does not start'
    return
  fi
  text=$(awk -v ms="$(value "$1" p90_ttft_ms)" 'BEGIN { printf "%.2f s", ms / 1000 }')
  [[ $(value "$1" stationary) == true ]] || text+=', backlog grows'
  rejected=$(value "$1" rejected)
  lost=$(value "$1" lost_to_oom)
  kinds=$(sed -n 's/^ *"kind": "\(.*\)",$/\1/p' "$1" | sort -u | paste -sd+)
  ((rejected == 0)) || text+=", $rejected rejected"
  ((lost == 0)) || text+=", $lost lost"
  preemptions=$(value "$1" preemptions)
  ((preemptions == 0)) || text+=", $preemptions preempted"
  [[ -z $kinds ]] || text+=" ($kinds)"
  echo "$text"
}

printf '| engine |'
for share in "${shares[@]}"; do
  printf ' %s %% |' "$(awk -v share="$share" 'BEGIN { print 100 * share }')"
done
printf '\n|---|'
for _ in "${shares[@]}"; do printf -- '---|'; done
echo
for row in "${engines[@]}"; do
  name=${row%%|*}
  row=${row#*|}
  engine=${row%%|*}
  settings=(--set "engine.name=$engine")
  [[ $engine == vllm ]] || settings+=(--set engine.max_model_len=null)
  for setting in ${row#*|}; do settings+=(--set "engine.$setting"); done
  printf '| %s |' "$name"
  for share in "${shares[@]}"; do
    code=0
    "$program" run rag-long-documents "${settings[@]}" --set "workload.documents.share=$share" \
      -o run >/dev/null 2>errors.txt || code=$?
    # 2 is bad input; other codes say how the run ended, and its results are complete.
    if ((code == 2)); then
      cat errors.txt >&2
      exit 2
    fi
    printf ' %s |' "$(cell run/summary.json)"
    rm -r run
  done
  echo
done
