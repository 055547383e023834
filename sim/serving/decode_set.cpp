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

DecodeSet::DecodeSet(std::int32_t block_tokens) : block_(std::max(block_tokens, 1)) {
  HEADROOM_CHECK(block_tokens >= 0, "block size below 0");
  crossings_.assign(static_cast<std::size_t>(block_tokens), 0);
}

BlockCount DecodeSet::blocks_needed(StepCount steps) const {
  HEADROOM_CHECK(steps >= 0, "number of steps below 0");
  if (crossings_.empty()) return 0;
  const auto block = static_cast<StepCount>(crossings_.size());
  // A full cycle of `block` steps takes one block of every sequence.
  StepCount partial = steps;
  BlockCount need = 0;
  if (steps >= block) {
    need = steps / block * ids_per_cycle_;
    partial = steps % block;
  }
  const std::span<const std::int32_t> slots = crossings_;
  const auto first = static_cast<std::size_t>(phase_);
  const std::size_t before_wrap = std::min(static_cast<std::size_t>(partial), slots.size() - first);
  return need + sum_of(slots.subspan(first, before_wrap)) +
         sum_of(slots.first(static_cast<std::size_t>(partial) - before_wrap));
}

StepCount DecodeSet::steps_within(BlockCount free, StepCount limit) const {
  HEADROOM_CHECK(free >= 0 && limit >= 0, "free blocks or number of steps below 0");
  if (crossings_.empty() || size_ == 0) return limit;
  const auto block = static_cast<StepCount>(crossings_.size());
  // Of limit / block cycles, rounded up, without a division: what is asked for is mostly there.
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
  auto slot = static_cast<std::size_t>(phase_);
  // Large blocks in stretches, up to the one in which it ends: most of their steps take none.
  constexpr std::size_t kStretch = 32;
  bool whole_stretches = crossings_.size() >= kStretch;
  while (steps < limit) {
    if (whole_stretches && slot + kStretch <= crossings_.size()) {
      const BlockCount need = sum_of(growth().subspan(slot, kStretch));
      whole_stretches = need <= left && limit - steps >= static_cast<StepCount>(kStretch);
      if (whole_stretches) {
        left -= need;
        steps += static_cast<StepCount>(kStretch);
        slot = (slot + kStretch) % crossings_.size();
        continue;
      }
    }
    if (crossings_[slot] > left) break;
    left -= crossings_[slot];
    ++steps;
    if (++slot == crossings_.size()) slot = 0;
  }
  return steps;
}

}  // namespace headroom
