#include "scheduler/kv/radix.hpp"

#include <algorithm>

#include "sim/kernel/check.hpp"
#include "sim/kernel/likely.hpp"

namespace headroom {

RadixKv::RadixKv(const RadixKvOptions& options)
    : KvAllocator(SequenceBlocks(options.block_tokens)),
      options_(options),
      block_(options.block_tokens),
      tree_(options.block_tokens),
      plain_(options.blocks) {
  HEADROOM_CHECK(options.blocks >= 0, "a pool of whole blocks");
  pool_.block_tokens = options.block_tokens;
  pool_.grows_with_decode = true;
  pool_.total_blocks = options.blocks;
  update_pool();
}

TokenCount RadixKv::cached_prefix(RequestId id, const Request& request) const {
  if (id < held_.size() && held_[id].blocks > 0) return request.known_tokens - 1;
  if (request.prompt_logprobs || tree_.empty()) return 0;
  // At least one token is computed: it yields the logits.
  const RequestBlocks beginning = text(request, block_.full(request.known_tokens - 1));
  BlockCount blocks = id == kNoRequest ? tree_.peek(beginning) : tree_.find(beginning).blocks;
  if (rarely(options_.drops_last_match) && blocks > 0) --blocks;
  return blocks * options_.block_tokens;
}

bool RadixKv::try_grow(const KvGrowth& growth) {
  if (growth.id >= held_.size()) held_.resize(std::size_t{growth.id} + 1);
  Holder& holder = held_[growth.id];
  if (!growth.is_unknown) take_batch();
  const bool admits = holder.blocks == 0;
  const BlockCount cached = admits ? block_.full(growth.cached_tokens) : 0;
  const BlockCount has = admits ? cached : holder.blocks;
  const BlockCount fit = block_.needed(std::max(growth.hold_tokens, growth.fit_tokens)) - has;
  RadixTree::Index found = RadixTree::kRoot;
  if (cached > 0) {
    const RadixTree::Place place = tree_.find(text(*growth.request, cached));
    HEADROOM_CHECK(place.blocks == cached, "another prefix than the one that was found");
    found = place.node;
  }
  if (fit + growth.keep_free > pool_.free_blocks - tree_.unlocked(found)) return false;
  if (cached > 0) {
    tree_.lock(found);
    holder.node = found;
    holder.path = cached;
  }
  const BlockCount more = std::max<BlockCount>(0, block_.needed(growth.hold_tokens) - has);
  plain_ -= more;
  batch_.blocks += more;
  if (growth.is_unknown) {
    batch_.tokens += growth.hold_tokens - (admits ? growth.cached_tokens : holder.tokens);
    ++batch_.rows;
  }
  holder.blocks = has + more;
  holder.tokens = std::max(growth.hold_tokens, holder.tokens);
  if (growth.request != nullptr) {
    const bool completes = growth.hold_tokens >= growth.request->known_tokens;
    decoding_ += completes && !holder.decodes ? 1 : 0;
    holder.decodes = holder.decodes || completes;
    if (!growth.is_unknown) {
      const TokenCount known = std::min<TokenCount>(growth.hold_tokens - growth.lookahead_tokens,
                                                    growth.request->known_tokens);
      make_known(holder, *growth.request, std::max(holder.path, block_.full(known)));
    }
  }
  update_pool();
  return true;
}

// SGLang asks for a page more for each row where pages hold several tokens (common.py,
// alloc_paged_token_slots_extend).
void RadixKv::take_batch() {
  if (mostly(batch_.rows == 0 && batch_.blocks == 0)) return;
  const bool long_pages = options_.block_tokens > 1;
  const TokenCount wanted = long_pages ? batch_.tokens + batch_.rows * options_.block_tokens
                                       : std::max(batch_.tokens, batch_.blocks);
  plain_ += batch_.blocks;
  evict_for(std::max(wanted, batch_.blocks * options_.block_tokens));
  plain_ -= batch_.blocks;
  batch_ = {};
  HEADROOM_CHECK(plain_ >= 0, "a batch takes blocks that are not free");
}

// Until so many tokens have blocks without content, or nothing can be evicted any more.
void RadixKv::evict_for(TokenCount wanted) {
  const TokenCount available = plain_ * options_.block_tokens;
  if (available >= wanted) return;
  plain_ += tree_.evict(block_.needed(options_.evicts_all ? wanted : wanted - available));
}

void RadixKv::take(BlockCount blocks) {
  take_batch();
  if (blocks > 0) {
    // Decodes ask for one page each (alloc_paged_token_slots_decode).
    evict_for(std::max(blocks, decoding_) * options_.block_tokens);
    plain_ -= blocks;
    HEADROOM_CHECK(plain_ >= 0, "decodes take blocks that are not free");
  }
  update_pool();
}

// The first `blocks` of `holder` enter the tree.
void RadixKv::make_known(Holder& holder, const Request& request, BlockCount blocks) {
  const RadixTree::Place place = tree_.enter(text(request, blocks));
  HEADROOM_CHECK(place.blocks >= holder.path, "a path that is locked was forgotten");
  tree_.lock(place.node);
  tree_.unlock(holder.node);
  plain_ += place.blocks - holder.path;  // its own copies of what was there
  holder.node = place.node;
  holder.path = blocks;
}

void RadixKv::release(RequestId id, const Request& request, TokenCount held_tokens, KvRelease how,
                      TokenCount /*unnamed_tokens*/) {
  if (held_tokens == 0) return;  // a waiting request holds nothing
  HEADROOM_CHECK(id < held_.size() && held_[id].blocks > 0, "a request gives its KV back twice");
  take_batch();
  Holder& holder = held_[id];
  holder.blocks = std::max(holder.blocks, block_.needed(held_tokens));
  if (how != KvRelease::dropped) {
    make_known(holder, request, std::max(holder.path, block_.full(held_tokens)));
  }
  tree_.unlock(holder.node);
  plain_ += holder.blocks - holder.path;
  decoding_ -= holder.decodes ? 1 : 0;
  holder = {};
  update_pool();
}

void RadixKv::on_engine_lost() {
  tree_ = RadixTree(options_.block_tokens);
  plain_ = options_.blocks;
  batch_ = {};
  decoding_ = 0;
  held_.clear();
  traffic_ = {};
  update_pool();
}

void RadixKv::update_pool() {
  pool_.free_blocks = pool_.largest_hole = plain_ + tree_.evictable();
  pool_.cached_blocks = std::min(tree_.evictable(), pool_.free_blocks);
  pool_.shared_blocks = tree_.shared();
}

}  // namespace headroom
