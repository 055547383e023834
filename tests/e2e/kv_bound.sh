#!/usr/bin/env bash
# A measured run in which KV memory is short all the time (vLLM 0.19.0, Llama-3.1-8B, RTX 4090),
# replayed with its settings: preemptions, the curves of running and waiting requests, latencies.
# Without the data it says so.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

shared=$HEADROOM_SOURCE_DIR/../shared
trace=$shared/traces/llmservingsim/sharegpt-llama-3.1-8b-300-sps10.jsonl
measured=$shared/groundtruth/llmservingsim_vllm019/RTX4090_Llama-3.1-8B
if [[ ! -f $trace || ! -d $measured ]]; then
  echo 'skipped: no run in ../shared/groundtruth/llmservingsim_vllm019'
  exit 0
fi

# replay [FLAG...]
replay() {
  "$HEADROOM" run rtx4090-kv-bound --trace "$trace" -o out "$@" >/dev/null
  accounted out/summary.json
  [[ $(number out/summary.json finished) == 300 ]] || fail 'finished'
}

# curve COLUMN MEASURED_COLUMN: mean distance of the simulated curve from the measured one, as a
# share of the measured mean, in per cent. Samples are 1 s apart; after the end nobody is here.
curve() {
  awk -F, -v simulated="$1" -v column="$2" '
    FNR == 1 { next }
    NR == FNR { if ($NF == "interval") at[$1 / 1e9] = $simulated; next }
    { distance += ($column > at[int($1)] ? 1 : -1) * ($column - at[int($1)]); sum += $column }
    END { printf "%.2f\n", 100 * distance / sum }' out/timeline.csv "$measured/timeseries.csv"
}
running() { curve 3 4; }
waiting() { curve 4 5; }

# within LOW VALUE HIGH WHAT
within() {
  awk -v low="$1" -v value="$2" -v high="$3" 'BEGIN { exit !(low <= value && value <= high) }' ||
    fail "$4: $2 is not in $1 .. $3"
}

# near KEY EXPRESSION PER_CENT: a metric beside the mean (of `e`, over the rows) of requests.csv.
near() {
  local simulated expected
  simulated=$(number out/summary.json "$1")
  expected=$(awk -F, "NR > 1 { sum += $2; n++ } END { print 1000 * sum / n }" \
    "$measured/requests.csv")
  within "$(awk "BEGIN { print $expected * (1 - $3 / 100) }")" "$simulated" \
    "$(awk "BEGIN { print $expected * (1 + $3 / 100) }")" "$1"
}

replay
# The log has no count of them. A few tokens or microseconds more or less, and others are victims:
# 181 to 207 with 5 % more or fewer blocks, 1 % more or less time, arrivals as measured.
within 160 "$(number out/summary.json preemptions)" 230 preemptions
within 0 "$(running)" 5 'running, per cent'
within 0 "$(waiting)" 5 'waiting, per cent'
near mean_ttft_ms '$8 - $5' 3
near mean_tpot_ms '($9 - $8) / ($3 - 1)' 2
near mean_e2el_ms '$9 - $5' 2
echo "$(number out/summary.json preemptions) preemptions; running $(running) %, waiting" \
  "$(waiting) % off"

# What the run shows is told apart: each of these leaves the 5 %.
for wrong in engine.enable_prefix_caching=false engine.watermark=0.01 \
  engine.num_gpu_blocks_override=2459 engine.async_scheduling=false; do
  replay --set "$wrong"
  within 5 "$(running)" 100 "running with $wrong, per cent"
done
