#!/usr/bin/env bash
# Measured runs replayed with the shipped constants, and from kernel tables: their errors stay what
# docs/fidelity.md says; and a row that is fitted again is one that `run` accepts. Without the data
# it says so.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# The page of scores: what --json says, in one file.
published=$HEADROOM_SOURCE_DIR/hardware/catalog/measured
"$HEADROOM" validate runs "$published" --html accuracy.html --date 2026-11-26 >scores.txt
grep -q '"kind":"accuracy"' accuracy.html || fail 'accuracy.html has no scores'
grep -q '"date":"2026-11-26"' accuracy.html || fail 'accuracy.html is not dated'
grep -q 'in range' scores.txt || fail 'scores are printed beside the page'
if "$HEADROOM" validate runs "$published" --html no/such/folder/a.html >refused.txt 2>&1; then
  fail 'a page in no folder was written'
fi
if "$HEADROOM" validate runs "$published" --date today >refused.txt 2>&1; then
  fail '--date without --html'
fi
grep -q -- '--date can be used only with --html' refused.txt || fail 'what --date needs'

# class_at_most PER_CENT CLASS METRIC COLUMN: the mean (5) or median (6) size of the error of an
# engine, a device and a class of models.
class_at_most() {
  awk -v most="$1" -v name="$2" -v metric="$3" -v column="$4" '
    index($0, "  " name "  ") == 1 {
      line = substr($0, length(name) + 3)
      split(line, part, /  +/)
      if (part[2] != metric) next
      found = 1
      if (part[column - 1] + 0 > most) exit 1
    }
    END { if (!found) exit 1 }' scores.txt || fail "$2 $3 above $1 %, or not scored"
}

# vLLM on an H200, which no constant has seen.
"$HEADROOM" validate runs "$published/h200" >scores.txt
class_at_most 4.5 'vllm h200-sxm dense' TPOT 5
class_at_most 8 'vllm h200-sxm dense' 'TTFT mean' 6
class_at_most 3 'vllm h200-sxm dense' tokens/s 5
class_at_most 15 'vllm h200-sxm experts' TPOT 5

measured=$HEADROOM_SOURCE_DIR/../shared/groundtruth
trace=$HEADROOM_SOURCE_DIR/../shared/traces/llmservingsim/sharegpt-llama-3.1-8b-300-sps10.jsonl
if [[ ! -f $trace || ! -d $measured/llmservingsim_vllm019 ||
  ! -d $measured/h100_vllm015_aggregates ]]; then
  echo 'skipped: no measured runs in ../shared/groundtruth'
  exit 0
fi

# scored FOLDER: its runs into scores.txt.
scored() { "$HEADROOM" validate runs "$measured/$1" >scores.txt; }

# at_most PER_CENT SITUATION METRIC: the mean |error| of the runs of a situation.
at_most() {
  awk -v most="$1" -v line="^  $2  +$3  +[0-9]+ " '
    $0 ~ line { found = 1; sub(line, ""); if ($1 > most) exit 1 }
    END { if (!found) exit 1 }' scores.txt || fail "$2 $3 above $1 %, or not scored"
}

scored h100_vllm015_aggregates
at_most 3 self TPOT
at_most 3 self E2EL
at_most 6 self 'TTFT mean'
at_most 6 self 'TTFT median'

# Static batches of 2024, closed loops of 2025 and 2026, and a stack of 2023.
if [[ -d $measured/argonne_llm_inference_bench && -d $measured/aiconfigurator_silicon &&
  -d $measured/splitwise_a100_h100 ]]; then
  scored argonne_llm_inference_bench
  at_most 7 self tokens/s
  at_most 8 'other model' tokens/s
  scored splitwise_a100_h100
  at_most 5 self TPOT
fi

# Closed loops of 2025 and 2026 with the commands that were run, priced by measured kernels.
if [[ -f $measured/aiconfigurator_silicon/recipes.csv ]]; then
  scored aiconfigurator_silicon
  class_at_most 8.5 'vllm b200 experts' TPOT 5
  class_at_most 10.5 'vllm b200 experts' 'TTFT mean' 6
  class_at_most 7.5 'vllm h100-sxm experts' TPOT 5
  class_at_most 8 'vllm h100-sxm experts' 'TTFT mean' 6
  class_at_most 11 'trtllm b200 experts' TPOT 5
  class_at_most 6.5 'trtllm b200 experts' 'TTFT mean' 6
  class_at_most 8.5 'trtllm b200 latent experts' TPOT 5
  class_at_most 11.5 'trtllm b200 latent experts' 'TTFT mean' 6
  class_at_most 9.5 'sglang b200 latent experts' TPOT 5
  class_at_most 15 'sglang b200 latent experts' 'TTFT mean' 6
  class_at_most 12 'sglang b200 recurrent experts' TPOT 5
  class_at_most 19 'sglang b200 recurrent experts' 'TTFT mean' 6
  class_at_most 19 'sglang b200 sparse latent experts' TPOT 5
fi

scored llmservingsim_vllm019
# shows LABEL TTFT_MEAN TTFT_MEDIAN TPOT E2EL TOKENS: no error of that run is larger, in per cent.
shows() {
  awk -v label="$1" -v a="$2" -v b="$3" -v c="$4" -v d="$5" -v e="$6" '
    BEGIN { split(a " " b " " c " " d " " e, most, " ") }
    index($0, label) {
      found = 1
      sub(/^.*requests  +|^.*\.\.\.  +/, "")
      gsub(/%/, "")
      for (i = 1; i <= 5; ++i) if ($i > most[i] || -$i > most[i]) exit 1
    }
    END { if (!found) exit 1 }' scores.txt || fail "$1: worse than it was"
}
shows 'llama-3.1-8b on rtx4090' 3 3 2 2 2
shows 'llama-3.1-8b on rtxpro6000-server' 3 4 2 2 2
shows 'qwen3-32b on rtxpro6000-server TP2' 5 5 5 5 5

# Priced from kernels that were measured one by one, nothing fitted on a run.
profiles=$measured/llmservingsim_layer_profiles
if [[ -d $profiles ]]; then
  "$HEADROOM" validate runs "$measured/llmservingsim_vllm019" --tables "$profiles" >scores.txt
  shows 'llama-3.1-8b on rtx4090' 4 4 4 4 4
  shows 'llama-3.1-8b on rtxpro6000-server' 8 14 8 8 8
  shows 'qwen3-32b on rtxpro6000-server TP2' 5 5 5 5 5
fi

# The bandwidth of the RTX 4090 is found again from another start, and the new row runs.
"$HEADROOM" calibrate "$measured" --calibration rtx4090-vllm-async --runs RTX4090_Llama-3.1-8B \
  --fit weight_bandwidth_share -o fitted >fit.txt
share=$(number fitted/calibrations.json weight_bandwidth_share)
awk -v share="$share" 'BEGIN { exit !(0.84 <= share && share <= 0.89) }' ||
  fail "weight_bandwidth_share $share"
"$HEADROOM" run rtx4090-kv-bound --catalog fitted --trace "$trace" -o out >/dev/null
accounted out/summary.json

# What is no measured run is refused by name.
if "$HEADROOM" calibrate "$measured" --calibration rtx4090-vllm-async --runs nothing \
  --fit step_us >refused.txt 2>&1; then
  fail 'a run that is not there was fitted on'
fi
grep -q 'no measured run "nothing"' refused.txt || fail 'which run is missing'
