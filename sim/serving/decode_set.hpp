#pragma once
// The sequences that decode in every step, as sums: adding a step costs O(1) whatever their number.
// All quantities are *as planned*: `advance(n)` is called when n further steps are planned.
//
// Blocks: a sequence with c computed tokens holds ceil(c / block) blocks, so its next step takes a
// new one exactly when c % block == 0. The set counts its sequences by the step slot (modulo the
// block size) in which that happens; every sequence has one such slot per block_tokens steps.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/kernel/check.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

class DecodeSet {
 public:
  // `block_tokens`: block size of a pool that grows with decode; 0 when decodes never need memory.
  explicit DecodeSet(std::int32_t block_tokens);

  // A sequence with `tokens` computed (0 <= tokens < 2^31) joins or leaves; it is counted from the
  // next step planned on. To leave, it says its tokens as planned: those it joined with plus one
  // for every step since.
  void join(TokenCount tokens) {
    ++size_;
    context_sum_ += tokens;
    if (!crossings_.empty()) ++crossings_[slot_of(tokens)];
  }
  void leave(TokenCount tokens) {
    HEADROOM_CHECK(size_ > 0 && tokens <= context_sum_, "a sequence left that had not joined");
    --size_;
    context_sum_ -= tokens;
    if (crossings_.empty()) return;
    std::int32_t& sequences = crossings_[slot_of(tokens)];
    HEADROOM_CHECK(sequences > 0, "a sequence left with another length than it has");
    --sequences;
  }

  void advance(StepCount steps) {
    context_sum_ += size_ * steps;
    if (crossings_.empty()) return;
    const auto block = static_cast<std::int32_t>(crossings_.size());
    if (steps < block) {
      phase_ += static_cast<std::int32_t>(steps);
      if (phase_ >= block) phase_ -= block;
    } else {
      phase_ = static_cast<std::int32_t>((phase_ + steps) % block);
    }
  }

  [[nodiscard]] std::int64_t size() const { return size_; }
  // Sum of computed tokens after the steps planned so far. The next step attends to
  // context_sum() + size() tokens.
  [[nodiscard]] TokenCount context_sum() const { return context_sum_; }
  // New blocks that the next `steps` steps need together. O(min(steps, block size)).
  [[nodiscard]] BlockCount blocks_needed(StepCount steps) const;
  // Largest n <= limit such that blocks_needed(n) <= free; free >= 0. O(block size).
  [[nodiscard]] StepCount steps_within(BlockCount free, StepCount limit) const;

  // growth()[(growth_phase() + i) % size] = blocks needed by the (i+1)-th next step. Empty: none
  // ever.
  [[nodiscard]] std::span<const std::int32_t> growth() const { return crossings_; }
  [[nodiscard]] std::int32_t growth_phase() const { return phase_; }

 private:
  // Slot of the step in which a sequence with `tokens` needs its next block. 32-bit arithmetic: the
  // division is the whole cost of join and leave.
  [[nodiscard]] std::size_t slot_of(TokenCount tokens) const {
    HEADROOM_CHECK(tokens >= 0 && tokens <= INT32_MAX, "length of a sequence out of range");
    const auto block = static_cast<std::uint32_t>(crossings_.size());
    const std::uint32_t into_block = static_cast<std::uint32_t>(tokens) % block;
    const auto phase = static_cast<std::uint32_t>(phase_);
    // The crossing is (block - into_block) % block steps ahead of the next step.
    return phase >= into_block ? phase - into_block : phase + block - into_block;
  }

  std::int64_t size_ = 0;
  TokenCount context_sum_ = 0;
  std::int32_t phase_ = 0;               // slot of the next step
  std::vector<std::int32_t> crossings_;  // sequences per step slot modulo the block size
};

}  // namespace headroom
