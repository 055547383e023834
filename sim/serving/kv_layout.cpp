#include "sim/serving/kv_layout.hpp"

#include <algorithm>

#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

BlockCount group_blocks(const KvGroup& group, TokenCount tokens, TokenCount step_tokens) {
  switch (group.kind) {
    case KvGroupKind::full: return blocks_needed(tokens, group.block_tokens);
    case KvGroupKind::sliding:
      // One more: the window may begin inside a block.
      return blocks_needed(std::min(group.window_tokens - 1 + step_tokens, tokens),
                           group.block_tokens) +
             1;
    case KvGroupKind::chunked:
      return blocks_needed(std::min(group.window_tokens + step_tokens, tokens), group.block_tokens);
    case KvGroupKind::recurrent: return group.states;
  }
  HEADROOM_CHECK(false, "unknown KV group");
  return 0;
}

}  // namespace

BlockCount KvLayout::sequence_blocks(TokenCount tokens, TokenCount step_tokens) const {
  BlockCount blocks = 0;
  for (const KvGroup& group : groups) blocks += group_blocks(group, tokens, step_tokens);
  return blocks;
}

BlockCount KvLayout::decode_blocks(TokenCount tokens) const {
  BlockCount blocks = 0;
  for (const KvGroup& group : groups) {
    const BlockCount most = group_blocks(group, tokens, 1);
    // A sequence shorter than the window holds no more than its own blocks.
    const bool windowed = group.kind == KvGroupKind::sliding || group.kind == KvGroupKind::chunked;
    blocks += windowed ? std::min(most, blocks_needed(tokens, group.block_tokens)) : most;
  }
  return blocks;
}

KvLayout uniform_layout(std::int32_t layers, ByteCount bytes_per_token, std::int32_t block_tokens) {
  HEADROOM_CHECK(block_tokens >= 1, "a block holds at least one token");
  KvLayout layout;
  layout.block_tokens = block_tokens;
  layout.bytes_per_token = bytes_per_token;
  layout.block_bytes = bytes_per_token * block_tokens;
  layout.groups.push_back({KvGroupKind::full, layers, block_tokens, 0});
  return layout;
}

}  // namespace headroom
