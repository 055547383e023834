#pragma once
// The sequences that decode in every step, as sums: adding a step costs O(1) whatever their number.
// All quantities are *as planned*: `advance(n)` is called when n further steps are planned.
//
// Blocks: a sequence with c computed tokens holds ceil(c / block) blocks, so its next step takes a
// new one exactly when c % block == 0; where layers keep unlike things it takes several ids then.
// The set counts them by the step slot (modulo the block size) in which that happens; every
// sequence has one such slot per block_tokens steps.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/kernel/check.hpp"
#include "sim/serving/block_size.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

// A sequence that joins or leaves.
struct DecodingRow {
  TokenCount tokens = 0;           // computed; 0 <= tokens < 2^31
  std::int32_t ids_per_block = 1;  // block ids that each further block takes
  TokenCount kept_beside = 0;      // what its ids hold beyond `tokens` (SequenceBlocks::kept)
  bool adapted = false;            // by a LoRA adapter
};

class DecodeSet {
 public:
  // `block_tokens`: block size of a pool that grows with decode; 0 when decodes never need memory.
  explicit DecodeSet(std::int32_t block_tokens);

  // A sequence is counted from the next step planned on. To leave, it says its tokens as planned:
  // those it joined with plus one for every step since; what it keeps beside them has grown by
  // ids_per_block - 1 in each.
  void join(const DecodingRow& row) {
    ++size_;
    ids_per_cycle_ += row.ids_per_block;
    context_sum_ += row.tokens;
    kept_beside_ += row.kept_beside;
    adapted_ += row.adapted ? 1 : 0;
    if (block_steps_ > 0) crosses(slot_of(row.tokens), row.ids_per_block);
  }
  void join(TokenCount tokens) { join(DecodingRow{.tokens = tokens}); }
  void leave(const DecodingRow& row) {
    HEADROOM_CHECK(size_ > 0 && row.tokens <= context_sum_, "a sequence left that had not joined");
    --size_;
    ids_per_cycle_ -= row.ids_per_block;
    context_sum_ -= row.tokens;
    kept_beside_ -= row.kept_beside;
    adapted_ -= row.adapted ? 1 : 0;
    if (block_steps_ == 0) return;
    const std::size_t slot = slot_of(row.tokens);
    HEADROOM_CHECK(crossings_[slot] >= row.ids_per_block,
                   "a sequence left with another length than it has");
    crosses(slot, -row.ids_per_block);
  }
  void leave(TokenCount tokens) { leave(DecodingRow{.tokens = tokens}); }

  void advance(StepCount steps) {
    context_sum_ += size_ * steps;
    kept_beside_ += (ids_per_cycle_ - size_) * steps;
    if (block_steps_ == 0) return;
    if (steps < block_steps_) {
      phase_ += static_cast<std::int32_t>(steps);
      if (phase_ >= block_steps_) phase_ -= block_steps_;
    } else {
      phase_ = static_cast<std::int32_t>((phase_ + steps) % block_steps_);
    }
  }

  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] std::int64_t adapted() const { return adapted_; }  // with a LoRA adapter
  // Sum of computed tokens after the steps planned so far. The next step attends to
  // context_sum() + size() tokens.
  [[nodiscard]] TokenCount context_sum() const { return context_sum_; }
  // Block ids that all sequences take in as many steps as a block has tokens; what their ids hold
  // grows by as many tokens in each step.
  [[nodiscard]] BlockCount ids_per_cycle() const { return ids_per_cycle_; }
  // Sum of what their ids hold, in tokens of a block: context_sum() where layers are all alike.
  [[nodiscard]] TokenCount kept_sum() const { return context_sum_ + kept_beside_; }
  // New blocks that the next step needs; and the next `steps` together, O(min(steps, block size)).
  [[nodiscard]] BlockCount blocks_needed() const {
    return block_steps_ == 0 ? 0 : crossings_[static_cast<std::size_t>(phase_)];
  }
  [[nodiscard]] BlockCount blocks_needed(StepCount steps) const;
  // Largest n <= limit such that blocks_needed(n) <= free; free >= 0. O(block size).
  [[nodiscard]] StepCount steps_within(BlockCount free, StepCount limit) const;

  // growth()[i] = blocks needed by the (i+1)-th next step, of as many as a block has tokens; then
  // from the beginning again. Empty: none ever.
  [[nodiscard]] std::span<const std::int32_t> growth() const {
    return {crossings_.data() + phase_, static_cast<std::size_t>(block_steps_)};
  }

 private:
  void crosses(std::size_t slot, std::int32_t ids) {
    crossings_[slot] += ids;
    crossings_[slot + static_cast<std::size_t>(block_steps_)] += ids;
  }
  // Slot of the step in which a sequence with `tokens` needs its next block.
  [[nodiscard]] std::size_t slot_of(TokenCount tokens) const {
    HEADROOM_CHECK(tokens >= 0, "length of a sequence out of range");
    // The crossing is (block - into_block) % block steps ahead of the next step.
    const std::int32_t ahead = phase_ - block_.rest(tokens);
    return static_cast<std::size_t>(ahead >= 0 ? ahead : ahead + block_.tokens());
  }

  std::int64_t size_ = 0;
  std::int64_t adapted_ = 0;
  BlockCount ids_per_cycle_ = 0;
  TokenCount context_sum_ = 0;
  TokenCount kept_beside_ = 0;
  BlockSize block_;           // 1 where decodes never need memory
  std::int32_t block_steps_;  // after which the growth repeats; 0: there is none
  std::int32_t phase_ = 0;    // slot of the next step
  // Block ids per step slot modulo the block size, twice over: the next ones from any slot on lie
  // side by side.
  std::vector<std::int32_t> crossings_;
};

}  // namespace headroom
