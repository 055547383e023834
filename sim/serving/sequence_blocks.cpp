#include "sim/serving/sequence_blocks.hpp"

#include <algorithm>
#include <numeric>

#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

bool is_window(const KvGroup& group) {
  return group.kind == KvGroupKind::sliding || group.kind == KvGroupKind::chunked;
}

}  // namespace

bool SequenceBlocks::can_follow(const KvLayout& layout) {
  // Between the last block of a window and the first one that it need not take lies a step.
  if (layout.block_tokens < 2) return false;
  const auto full = std::ranges::count(layout.groups, KvGroupKind::full, &KvGroup::kind);
  const bool one_window = layout.uniform() && layout.groups.front().kind == KvGroupKind::sliding;
  return (full == 1 || one_window) && std::ranges::all_of(layout.groups, [&](const KvGroup& group) {
           return !is_window(group) || layout.block_tokens % group.block_tokens == 0;
         });
}

SequenceBlocks::SequenceBlocks(const KvLayout& layout, TokenCount step_tokens,
                               TokenCount ahead_tokens)
    : block_tokens_(layout.block_tokens), step_tokens_(step_tokens) {
  HEADROOM_CHECK(can_follow(layout) && step_tokens >= 1, "a layout that cannot be followed");
  every_ = layout.groups.front().kind == KvGroupKind::full ? 1 : 0;
  for (const KvGroup& group : layout.groups) {
    if (group.kind == KvGroupKind::recurrent) states_ += group.states;
    if (!is_window(group)) continue;
    const bool chunked = group.kind == KvGroupKind::chunked;
    const std::int32_t ids = block_tokens_ / group.block_tokens;
    const auto same = std::ranges::find_if(windows_, [&](const Window& window) {
      return window.window_tokens == group.window_tokens && window.chunked == chunked;
    });
    if (same != windows_.end()) {
      same->ids_per_block += ids;
      continue;
    }
    const TokenCount behind = chunked ? group.window_tokens : group.window_tokens - 1;
    const BlockCount misaligned = chunked ? 0 : 1;
    // Chunks of attention begin at multiples of the greatest common divisor within a block.
    const TokenCount before =
        chunked ? block_tokens_ - std::gcd(group.window_tokens, TokenCount{block_tokens_}) : 0;
    windows_.push_back(
        {.ids_per_block = ids,
         .most_blocks = blocks_needed(before + behind + ahead_tokens, block_tokens_) + misaligned,
         .admitted_blocks = blocks_needed(behind + step_tokens, block_tokens_) + misaligned,
         .window_tokens = group.window_tokens,
         .chunked = chunked});
  }
}

BlockCount SequenceBlocks::blocks_behind(const Window& window, TokenCount tokens) const {
  const TokenCount unseen = window.chunked
                                ? tokens / window.window_tokens * window.window_tokens
                                : std::max<TokenCount>(0, tokens - window.window_tokens + 1);
  return unseen / block_tokens_;
}

BlockCount SequenceBlocks::held_of(const Window& window, TokenCount tokens) const {
  return std::min(blocks_needed(tokens, block_tokens_), window.most_blocks);
}

BlockCount SequenceBlocks::held_in_step(const Window& window, TokenCount before,
                                        TokenCount after) const {
  const BlockCount blocks = blocks_needed(after, block_tokens_);
  return std::max(blocks - blocks_behind(window, before), std::min(blocks, window.most_blocks));
}

BlockCount SequenceBlocks::beside(TokenCount tokens) const {
  BlockCount ids = states_;
  for (const Window& window : windows_) ids += window.ids_per_block * held_of(window, tokens);
  return ids;
}

BlockCount SequenceBlocks::beside_in_step(TokenCount before, TokenCount after) const {
  BlockCount ids = states_;
  for (const Window& window : windows_) {
    ids += window.ids_per_block * held_in_step(window, before, after);
  }
  return ids;
}

BlockCount SequenceBlocks::beside_to_admit(TokenCount tokens, TokenCount cached) const {
  BlockCount ids = states_;
  const BlockCount found = cached / block_tokens_;
  for (const Window& window : windows_) {
    const BlockCount most = std::min(blocks_needed(tokens, block_tokens_), window.admitted_blocks);
    ids += window.ids_per_block *
           (std::max<BlockCount>(0, most - found) + found - blocks_behind(window, cached));
  }
  return ids;
}

BlockCount SequenceBlocks::new_in_step(TokenCount before, TokenCount after) const {
  const BlockCount blocks =
      blocks_needed(after, block_tokens_) - blocks_needed(before, block_tokens_);
  return uniform() ? blocks : every_ * blocks + beside_in_step(before, after) - beside(before);
}

std::int32_t SequenceBlocks::ids_per_block_of_all(TokenCount tokens) const {
  std::int32_t ids = every_;
  for (const Window& window : windows_) {
    if (tokens < window.most_blocks * block_tokens_) ids += window.ids_per_block;
  }
  return ids;
}

TokenCount SequenceBlocks::next_change(TokenCount tokens) const {
  TokenCount change = INT64_MAX;
  for (const Window& window : windows_) {
    const TokenCount whole = window.most_blocks * block_tokens_;
    if (tokens < whole) change = std::min(change, whole);
  }
  return change;
}

TokenCount SequenceBlocks::next_move(TokenCount tokens) const {
  TokenCount move = INT64_MAX;
  for (const Window& window : windows_) {
    const BlockCount block = std::max(window.most_blocks, blocks_needed(tokens, block_tokens_));
    move = std::min(move, block * block_tokens_);
  }
  return move;
}

TokenCount SequenceBlocks::longest(BlockCount blocks) const {
  const auto fit = [&](BlockCount whole) {
    return every_ * whole + beside_to_admit(whole * block_tokens_) <= blocks;
  };
  BlockCount fits = 0;
  // Every block of tokens takes an id at least, but for windows alone.
  BlockCount does_not = every_ > 0 ? blocks + 1 : INT32_MAX / block_tokens_;
  while (does_not - fits > 1) {
    const BlockCount middle = fits + (does_not - fits) / 2;
    (fit(middle) ? fits : does_not) = middle;
  }
  return fits * block_tokens_;
}

TokenCount SequenceBlocks::kept_by_all(TokenCount tokens) const {
  TokenCount kept = every_ * tokens + TokenCount{states_} * block_tokens_;
  for (const Window& window : windows_) {
    kept += window.ids_per_block * std::min(tokens, window.most_blocks * block_tokens_);
  }
  return kept;
}

}  // namespace headroom
