#!/usr/bin/env bash
# Prefix caching in the loop, on Mooncake's conversation trace: one request at a time, the simulated
# vLLM finds what the sequential reference of an LRU cache finds, block for block; then what makes
# an engine differ is switched on, one thing after the other. Without the trace it says so.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

trace=$HEADROOM_SOURCE_DIR/../shared/traces/mooncake-fast25/conversation_trace.jsonl
reference=$HEADROOM_SOURCE_DIR/../shared/traces/prefix_reference.json
if [[ ! -f $trace || ! -f $reference ]]; then
  echo 'skipped: no traces in ../shared/traces/mooncake-fast25'
  exit 0
fi
prompt_tokens=144793823

# reference_hits CAPACITY: tokens found by a cache of so many blocks (full ones; tails go first).
reference_hits() {
  awk -v row="\"lru_leaf_oldest_$1\"" '
    /"mooncake_conversation\/full"/ { in_mode = 1 }
    in_mode && index($0, row) { in_row = 1 }
    in_row && /"hit_tokens"/ { gsub(/[^0-9]/, ""); print; exit }' "$reference"
}

# hits USABLE_BLOCKS [FLAG...]: tokens found in the prefix cache; vLLM's null block comes on top.
# Partly filled blocks are used again first, as from vLLM 0.23 on.
hits() {
  local blocks=$1
  shift
  "$HEADROOM" run mooncake-prefix-cache --trace "$trace" -o out \
    --set engine.num_gpu_blocks_override=$((blocks + 1)) \
    --set engine.free_plain_blocks_first=true "$@" >/dev/null
  accounted out/summary.json
  [[ $(number out/summary.json finished) == 12031 ]] || fail 'finished'
  [[ $(number out/summary.json preemptions) == 0 ]] || fail 'preemptions'
  [[ $(number out/summary.json prefix_cache_queries) == "$prompt_tokens" ]] || fail 'queries'
  number out/summary.json prefix_cache_hits
}

# share_lost MORE LESS LOW HIGH: (MORE - LESS) / MORE lies in LOW .. HIGH per cent.
share_lost() {
  awk -v more="$1" -v less="$2" -v low="$3" -v high="$4" \
    'BEGIN { lost = 100 * (more - less) / more; exit !(low <= lost && lost <= high) }' ||
    fail "$2 tokens found after $1: not $3 .. $4 % lost"
}

# A batch of one at next to no time for each step: nobody overlaps.
one_by_one=(--set engine.max_num_seqs=1 --set cost.level=affine --set cost.affine.step_us=1
  --set cost.affine.prompt_token_us=0 --set cost.affine.decode_token_us=0)
# An answer of one token leaves no KV. Its length is declared, so no ghost row follows it.
no_answers=(--set workload.trace.max_output_tokens=1
  --set 'workload.max_tokens={"rule":"times_output","times_output":1}')

for capacity in 10000 50000; do
  expected=$(reference_hits $capacity)
  # The reference has no partly filled blocks. In the engine each prompt has one at most, which goes
  # to the front of the free list and is the next one taken: one block more makes up for it.
  same=$(hits $((capacity + 1)) "${one_by_one[@]}" "${no_answers[@]}")
  [[ $same == "$expected" ]] || fail "$capacity blocks: $same tokens instead of $expected"
  # That block and the null block are part of the pool.
  pool=$(hits $((capacity - 1)) "${one_by_one[@]}" "${no_answers[@]}")
  ((pool < expected)) || fail "$capacity blocks: two blocks less find as much"
  share_lost "$expected" "$pool" 0.0005 0.02
  # Answers are cached, too, and nobody asks for them again: 8,291 blocks beside the 214,486
  # (173,767) that are computed of prompts. That is 3.9 (4.8) % more to pass through the pool, as if
  # it were so much smaller: with 9,628 (47,723) blocks the reference finds 1.3 (.48) % less.
  answers=$(hits $((capacity - 1)) "${one_by_one[@]}")
  share_lost "$pool" "$answers" 0.4 1.5
  # At the trace's own rate: blocks in use cannot be evicted, blocks age from their release on.
  load=$(hits $((capacity - 1)))
  share_lost "$answers" "$load" -0.2 0.2
  echo "$capacity blocks: reference $expected, engine $same, its pool $pool, answers $answers," \
    "load $load of $prompt_tokens tokens"
done

[[ $(hits 9999 --set engine.enable_prefix_caching=false) == 0 ]] || fail 'hits without a cache'
