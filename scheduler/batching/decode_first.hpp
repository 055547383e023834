#pragma once
// What policies share in which every decoding sequence takes its token before any prompt does.

#include "sim/serving/batch_scheduler.hpp"

namespace headroom {

// Takes the blocks of one step of all decodes; while they are short, `preempt_next()` takes one
// running request out. It is the engines' loop over the running requests in sums: the first ones
// take all free blocks, the next one in need preempts the last, and so on. The block of a victim
// that had taken one already goes to somebody else in need.
template <typename PreemptNext>
void take_decodes_first(const PlanContext& context, PreemptNext preempt_next) {
  BlockCount taken = 0;
  while (context.decodes.blocks_needed(1) > taken + context.kv.pool().free_blocks) {
    const BlockCount free = context.kv.pool().free_blocks;
    context.kv.take(free);
    taken += free;
    preempt_next();
  }
  context.take_decodes(taken);
}

// How often a plan of decodes alone may be repeated before the pool is used up.
[[nodiscard]] inline StepCount steady_decodes(const PlanContext& context) {
  return 1 + context.decodes.steps_within(context.kv.pool().free_blocks, kManySteps / 2);
}

// Blocks that an admission leaves free.
[[nodiscard]] inline BlockCount watermark_blocks(double watermark, const KvPoolState& pool) {
  return static_cast<BlockCount>(watermark * static_cast<double>(pool.total_blocks));
}

}  // namespace headroom
