#pragma once
// What policies share in which every decoding sequence takes its token before any prompt does.

#include <algorithm>

#include "sim/kernel/check.hpp"
#include "sim/kernel/likely.hpp"
#include "sim/serving/batch_scheduler.hpp"

namespace headroom {

// Takes the blocks that one step of all decodes needs; while they are short, `preempt()` removes
// the request `next_victim()`. This computes the engines' loop over the running requests with sums:
// the first ones take all free blocks, the next one in need preempts the last, and so on. If a
// victim had already taken a block, another request in need gets it. Where windows take ids of
// their own a step of one sequence needs several: then nothing is taken before the last victim is
// out, since the next one might need more than those left.
template <typename NextVictim, typename Preempt>
void take_decodes_first(const PlanContext& context, NextVictim next_victim, Preempt preempt) {
  const bool one_each = context.kv.sequence().windows().empty();
  BlockCount taken = 0;
  while (rarely(context.decodes.blocks_needed() > taken + context.kv.pool().free_blocks)) {
    // A victim may need several ids, and the others none of them.
    const BlockCount others = context.decodes.blocks_needed() - context.decode_need(next_victim());
    const BlockCount free = context.kv.pool().free_blocks;
    const bool is_last = others - taken <= free;
    const BlockCount more = is_last || one_each ? std::min(free, others - taken) : BlockCount{0};
    HEADROOM_CHECK(more >= 0, "a victim had taken blocks for the others");
    if (more > 0) context.kv.take(more);
    taken += more;
    preempt();
  }
  context.take_decodes(taken);
}

// Blocks that an admission leaves free, of a pool of so many.
[[nodiscard]] inline BlockCount watermark_blocks(double watermark, BlockCount blocks) {
  return static_cast<BlockCount>(watermark * static_cast<double>(blocks));
}

}  // namespace headroom
