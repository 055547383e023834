#include "scheduler/kv/paged.hpp"

#include <algorithm>

#include "sim/kernel/check.hpp"
#include "sim/serving/kv_layout.hpp"

namespace headroom {

PagedKv::PagedKv(const PagedKvOptions& options) : options_(options), free_(options.blocks) {
  HEADROOM_CHECK(options.blocks >= 0 && options.block_tokens >= 1, "a pool of whole blocks");
  pool_.block_tokens = options.block_tokens;
  pool_.grows_with_decode = !options.reserve_final;
  pool_.total_blocks = options.blocks;
  update_pool();
}

BlockCount PagedKv::blocks_for(TokenCount tokens) const {
  return blocks_needed(tokens, options_.block_tokens);
}

TokenCount PagedKv::cached_prefix(RequestId id, const Request& request) const {
  if (!options_.enable_prefix_caching) return 0;
  // At least one token is computed: it yields the logits (ENGINES.md 2.2).
  const BlockCount most = (request.known_tokens - 1) / options_.block_tokens;
  return std::min(free_.owned_by(id), most) * options_.block_tokens;
}

bool PagedKv::try_grow(const KvGrowth& growth) {
  if (growth.id >= held_.size()) held_.resize(growth.id + 1, 0);
  BlockCount& held = held_[growth.id];
  const TokenCount hold = options_.reserve_final ? growth.final_tokens : growth.hold_tokens;
  const TokenCount fit = std::max(hold, growth.fit_tokens);
  // Cached blocks lie in the free list: reclaiming one uses up a free block like any other.
  if (blocks_for(fit) - held + growth.keep_free > pool_.free_blocks) return false;
  const BlockCount cached = growth.cached_tokens / options_.block_tokens;
  free_.take_owned(growth.id, cached);
  free_.take(blocks_for(hold) - held - cached);
  held = blocks_for(hold);
  update_pool();
  return true;
}

void PagedKv::take(BlockCount blocks) {
  free_.take(blocks);
  update_pool();
}

void PagedKv::release(RequestId id, TokenCount held_tokens, bool keep_identity) {
  free_.disown(id);
  const BlockCount blocks =
      options_.reserve_final && held_tokens > 0 ? held_[id] : blocks_for(held_tokens);
  if (id < held_.size()) held_[id] = 0;
  const BlockCount hashed =
      options_.enable_prefix_caching ? held_tokens / options_.block_tokens : BlockCount{0};
  free_.put_plain(blocks - hashed);
  free_.put_hashed(hashed, keep_identity ? id : kNoRequest);
  update_pool();
}

void PagedKv::update_pool() {
  pool_.free_blocks = pool_.largest_hole = free_.size();
  pool_.cached_blocks = free_.hashed();
}

}  // namespace headroom
