#include "sim/serving/decode_set.hpp"

namespace headroom {

DecodeSet::DecodeSet(std::int32_t block_tokens) {
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
  auto slot = static_cast<std::size_t>(phase_);
  for (; partial > 0; --partial) {
    need += crossings_[slot];
    if (++slot == crossings_.size()) slot = 0;
  }
  return need;
}

StepCount DecodeSet::steps_within(BlockCount free, StepCount limit) const {
  HEADROOM_CHECK(free >= 0 && limit >= 0, "free blocks or number of steps below 0");
  if (crossings_.empty() || size_ == 0) return limit;
  const auto block = static_cast<StepCount>(crossings_.size());
  BlockCount left = free;
  StepCount steps = 0;
  if (free >= ids_per_cycle_) {
    const BlockCount cycles = free / ids_per_cycle_;
    if (cycles > limit / block) return limit;
    steps = cycles * block;
    left -= cycles * ids_per_cycle_;
  }
  // Fewer blocks are left than a full cycle takes, so this ends within one cycle.
  auto slot = static_cast<std::size_t>(phase_);
  while (steps < limit && crossings_[slot] <= left) {
    left -= crossings_[slot];
    ++steps;
    if (++slot == crossings_.size()) slot = 0;
  }
  return steps;
}

}  // namespace headroom
