#include "sim/serving/decode_set.hpp"

#include <algorithm>

#include "sim/kernel/likely.hpp"

namespace headroom {
namespace {

// In one go, of several at a time.
BlockCount sum_of(std::span<const std::int32_t> blocks) {
  std::int64_t sum = 0;
  for (const std::int32_t one : blocks) sum += one;
  return sum;
}

}  // namespace

DecodeSet::DecodeSet(std::int32_t block_tokens)
    : block_(std::max(block_tokens, 1)), block_steps_(block_tokens) {
  HEADROOM_CHECK(block_tokens >= 0, "block size below 0");
  crossings_.assign(2 * static_cast<std::size_t>(block_tokens), 0);
}

BlockCount DecodeSet::blocks_needed(StepCount steps) const {
  HEADROOM_CHECK(steps >= 0, "number of steps below 0");
  if (block_steps_ == 0) return 0;
  // A full cycle of block_steps_ steps takes one block of every sequence.
  StepCount partial = steps;
  BlockCount need = 0;
  if (steps >= block_steps_) {
    need = steps / block_steps_ * ids_per_cycle_;
    partial = steps % block_steps_;
  }
  return need + sum_of(growth().first(static_cast<std::size_t>(partial)));
}

StepCount DecodeSet::steps_within(BlockCount free, StepCount limit) const {
  HEADROOM_CHECK(free >= 0 && limit >= 0, "free blocks or number of steps below 0");
  if (block_steps_ == 0 || ids_per_cycle_ == 0) return limit;
  const StepCount block = block_steps_;
  // limit / block cycles, rounded up, without a division, because the value is usually cached.
  constexpr StepCount kFewSteps = StepCount{1} << 24;  // the products stay below 2^63
  constexpr BlockCount kManyBlocks = BlockCount{1} << 32;
  if (mostly(limit <= kFewSteps) && mostly(free <= kManyBlocks) &&
      mostly(ids_per_cycle_ <= kManyBlocks) &&
      mostly((limit + block) * ids_per_cycle_ <= free * block)) {
    return limit;
  }
  BlockCount left = free;
  StepCount steps = 0;
  if (free >= ids_per_cycle_) {
    // 32-bit arithmetic where that is enough: the division is most of the cost.
    const BlockCount cycles = free <= UINT32_MAX ? static_cast<std::uint32_t>(free) /
                                                       static_cast<std::uint32_t>(ids_per_cycle_)
                                                 : free / ids_per_cycle_;
    steps = cycles * block;
    if (steps > limit) return limit;
    left -= cycles * ids_per_cycle_;
  }
  // Fewer blocks are left than a full cycle takes, so this ends within one cycle.
  const std::span<const std::int32_t> needs = growth();
  std::size_t next = 0;
  // Large blocks in stretches, up to the one in which it ends: most of their steps take none.
  constexpr std::size_t kStretch = 32;
  for (; next + kStretch <= needs.size(); next += kStretch) {
    const BlockCount need = sum_of(needs.subspan(next, kStretch));
    if (need > left || limit - steps < static_cast<StepCount>(kStretch)) break;
    left -= need;
    steps += static_cast<StepCount>(kStretch);
  }
  for (; steps < limit && needs[next] <= left; ++next) {
    left -= needs[next];
    ++steps;
  }
  return steps;
}

}  // namespace headroom
