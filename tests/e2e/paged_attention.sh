#!/usr/bin/env bash
# The PagedAttention paper's comparison (its figures 2 and 13): mean batch at 2 requests/s and the
# share of the KV memory that holds written tokens, each within 15 % of the published value.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# loaded FILE COLUMN: mean over the time in which requests arrive (2/s, 3,000 of them), start left
# out.
loaded() {
  awk -F, -v column="$2" 'NR > 1 && $1 >= 200e9 && $1 < 1500e9 { sum += $column; ++rows }
                          END { printf "%.3f", sum / rows }' "$1"
}
near() { # near WHAT GOT WANTED
  awk -v got="$2" -v wanted="$3" 'BEGIN { exit !(got > 0.85 * wanted && got < 1.15 * wanted) }' ||
    fail "$1: $2 for $3"
}

"$HEADROOM" run paged-attention-vllm -o vllm >/dev/null
near 'vllm batch' "$(loaded vllm/timeline.csv 3)" 30.42
# The paper's shares are of a loaded system.
"$HEADROOM" run paged-attention-vllm --set workload.arrivals.request_rate=6 \
  --set workload.num_requests=9000 -o loaded >/dev/null
used=$(loaded loaded/timeline.csv 6)
near 'vllm occupancy' "$(awk -v used="$used" 'BEGIN { print 100 * used / 15728 }')" 96.3

while read -r reservation batch occupancy; do
  "$HEADROOM" run paged-attention-orca --set engine.kv_reservation="$reservation" \
    -o "$reservation" >/dev/null
  near "$reservation batch" "$(loaded "$reservation/timeline.csv" 3)" "$batch"
  used=$(loaded "$reservation/timeline.csv" 6)
  near "$reservation occupancy" "$(awk -v used="$used" 'BEGIN { print 100 * used / 15728 }')" \
    "$occupancy"
done <<'TABLE'
max_model_len 7.00 20.4
pow2 9.81 26.8
oracle 13.62 38.2
TABLE
