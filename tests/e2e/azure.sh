#!/usr/bin/env bash
# The main job on the real traces: every request of both is accounted for under all three
# schedulers, and jumping gives the same files as single steps. Without the traces it says so.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

traces=$HEADROOM_SOURCE_DIR/../shared/traces/azure-llm-2023
if [[ ! -d $traces ]]; then
  echo "skipped: no traces in ../shared/traces/azure-llm-2023"
  exit 0
fi

declare -A requests=([conv]=19366 [code]=8819)
for kind in conv code; do
  for engine in static orca vllm; do
    name=azure-$kind-$engine
    "$HEADROOM" run "$name" --trace "$traces/AzureLLMInferenceTrace_$kind.csv" >/dev/null
    summary=results/$name/summary.json
    [[ $(number "$summary" arrived) == "${requests[$kind]}" ]] || fail "$name: arrived"
    [[ $(number "$summary" finished) == "${requests[$kind]}" ]] || fail "$name: finished"
    accounted "$summary"
  done
  "$HEADROOM" run "azure-$kind-vllm" --single-step -o single \
    --trace "$traces/AzureLLMInferenceTrace_$kind.csv" >/dev/null
  for file in summary.json requests.csv timeline.csv events.jsonl; do
    cmp "single/$file" "results/azure-$kind-vllm/$file" || fail "azure-$kind-vllm: $file"
  done
done
