// The part of PagedKv that is about a second tier behind it (docs/semantics.md 21).

#include <algorithm>

#include "scheduler/kv/paged.hpp"
#include "sim/kernel/check.hpp"

namespace headroom {

// Continues after the blocks found on the device.
void PagedKv::look_in_tier(const Request& request, BlockCount most) const {
  Lookup& last = lookup_;
  last.in_tier.clear();
  last.tier_blocks = 0;
  RequestBlocks blocks(request, options_.block_tokens, last.match.blocks, most);
  BlockRun run;
  ChainId chain = 0;
  for (bool first = true; blocks.next(run); first = false) {
    if (first) chain = tree_.chain_at_end(last.match, run);
    StoredBlocks stored = stored_run(chain, run, options_.block_tokens);
    stored.blocks = tier_->found(stored);
    if (stored.blocks > 0) last.in_tier.push_back(stored);
    last.tier_blocks += stored.blocks;
    if (stored.blocks < run.blocks) return;
    chain = chain_behind(chain, run, options_.block_tokens);
  }
}

// The first `blocks` of what was found in the tier, last one first.
void PagedKv::load(const Lookup& found, BlockCount blocks) {
  const std::int64_t from_disk = tier_->counts().loaded_from_disk;
  traffic_.loaded_blocks += blocks;
  moving_.clear();
  for (StoredBlocks run : found.in_tier) {
    run.blocks = std::min(run.blocks, blocks);
    blocks -= run.blocks;
    if (run.blocks > 0) moving_.push_back(run);
  }
  HEADROOM_CHECK(blocks == 0, "more blocks loaded than were found");
  std::ranges::reverse(moving_);
  tier_->load(moving_);
  traffic_.loaded_from_disk += tier_->counts().loaded_from_disk - from_disk;
}

// The first `full` blocks are full: what the tier has not been told of yet goes there, last one
// first, behind the steps, while the links are idle.
void PagedKv::write_through(Holder& holder, const Request& request, BlockCount full) {
  if (full <= holder.written) return;
  moving_.clear();
  RequestBlocks blocks(request, options_.block_tokens, 0, full);
  BlockRun run;
  ChainId chain = 0;
  BlockCount at = 0;
  while (blocks.next(run)) {
    StoredBlocks stored = stored_run(chain, run, options_.block_tokens);
    chain = chain_behind(chain, run, options_.block_tokens);
    const BlockCount told = std::clamp<BlockCount>(holder.written - at, 0, run.blocks);
    at += run.blocks;
    stored.first += told;
    stored.blocks -= told;
    if (stored.blocks > 0) moving_.push_back(stored);
  }
  holder.written = full;
  std::ranges::reverse(moving_);
  tier_->write(moving_);
}

}  // namespace headroom
