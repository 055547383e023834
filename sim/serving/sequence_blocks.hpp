#pragma once
// How many block ids one sequence holds, by its length. Where all layers keep every token that is
// ceil(tokens / block). Where some keep a window or a state they have block tables of their own,
// which draw ids from the same pool (ENGINES.md 2.4; docs/semantics.md 27).
//
// Between two steps a windowed group holds min(ceil(c / b), C) ids for c computed tokens, C = what
// a window needs wherever it begins: ceil((window - 1) / b) + 1, or the most blocks that a chunk of
// attention touches (window / b where b divides it); with drafts the window is longer by their
// slots. vLLM holds one id less in one step out of b (where b divides the window). In a step that
// computes many tokens it holds all of theirs, and lets go of those behind the window when it is
// planned next.

#include <cstdint>
#include <span>
#include <vector>

#include "sim/kernel/likely.hpp"
#include "sim/serving/kv_layout.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

class SequenceBlocks {
 public:
  // The groups that keep the same window.
  struct Window {
    std::int32_t ids_per_block = 1;  // of all of them
    BlockCount most_blocks = 0;      // C
    BlockCount admitted_blocks = 0;  // the admission cap
    TokenCount window_tokens = 0;
    bool chunked = false;
  };

  // One group that keeps every token in blocks of `block_tokens` (>= 1).
  explicit SequenceBlocks(std::int32_t block_tokens) : block_tokens_(block_tokens) {}

  // Whether the groups of a layout can be followed id by id: one that keeps every token, beside it
  // windows with blocks that divide its own, and states; or one window of all layers.
  [[nodiscard]] static bool can_follow(const KvLayout& layout);
  // `step_tokens`: the most that a step computes of a sequence (max_num_batched_tokens).
  // `ahead_tokens`: slots of a decoding sequence beyond its next token, for drafts and a drafter.
  SequenceBlocks(const KvLayout& layout, TokenCount step_tokens, TokenCount ahead_tokens = 0);

  [[nodiscard]] bool uniform() const { return mostly(windows_.empty()) && mostly(states_ == 0); }
  // Ids that a block of tokens takes in the group that keeps every token: 0 where there is none.
  [[nodiscard]] std::int32_t every() const { return every_; }
  // The most tokens of a sequence that a step may compute; INT64_MAX: any number.
  [[nodiscard]] TokenCount step_tokens() const { return step_tokens_; }
  [[nodiscard]] std::int32_t states() const { return states_; }
  [[nodiscard]] std::span<const Window> windows() const { return windows_; }
  // Blocks that nothing computed behind `tokens` attends to.
  [[nodiscard]] BlockCount blocks_behind(const Window& window, TokenCount tokens) const;
  // Blocks of one group of a window: between steps, and while a step computes before .. after.
  [[nodiscard]] BlockCount held_of(const Window& window, TokenCount tokens) const;
  [[nodiscard]] BlockCount held_in_step(const Window& window, TokenCount before,
                                        TokenCount after) const;

  // Ids besides those of the group that keeps every token: between steps; while a step computes
  // tokens before .. after; and those that the test of a whole prompt counts (the admission cap),
  // where its first `cached` tokens, whole blocks, have been found.
  [[nodiscard]] BlockCount beside(TokenCount tokens) const;
  [[nodiscard]] BlockCount beside_in_step(TokenCount before, TokenCount after) const;
  [[nodiscard]] BlockCount beside_to_admit(TokenCount tokens, TokenCount cached = 0) const;

  // All ids between two steps.
  [[nodiscard]] BlockCount held(TokenCount tokens) const {
    const BlockCount blocks = blocks_needed(tokens, block_tokens_);
    return uniform() ? blocks : every_ * blocks + beside(tokens);
  }
  // New ids of a step that computes tokens before .. after (before > 0).
  [[nodiscard]] BlockCount new_in_step(TokenCount before, TokenCount after) const;

  // Ids that the next block of a decoding sequence takes, and the first length beyond `tokens` at
  // which that is less; INT64_MAX: never.
  [[nodiscard]] std::int32_t ids_per_block(TokenCount tokens) const {
    return uniform() ? 1 : ids_per_block_of_all(tokens);
  }
  [[nodiscard]] TokenCount next_change(TokenCount tokens) const;
  // The first length from `tokens` on at which a decoding sequence takes a block for a window that
  // is full, so that its first block leaves; INT64_MAX: never.
  [[nodiscard]] TokenCount next_move(TokenCount tokens) const;

  // The longest prompt that `blocks` ids are enough for; blocks x block size for a uniform one.
  // Less than 2^31 tokens.
  [[nodiscard]] TokenCount longest(BlockCount blocks) const;

  // What the ids of a sequence hold, in tokens of a block: `tokens` for a uniform one.
  [[nodiscard]] TokenCount kept(TokenCount tokens) const {
    return uniform() ? tokens : kept_by_all(tokens);
  }

 private:
  [[nodiscard]] std::int32_t ids_per_block_of_all(TokenCount tokens) const;
  [[nodiscard]] TokenCount kept_by_all(TokenCount tokens) const;

  std::int32_t block_tokens_;
  std::int32_t every_ = 1;
  TokenCount step_tokens_ = INT64_MAX;
  std::int32_t states_ = 0;
  std::vector<Window> windows_;
};

}  // namespace headroom
