#include "sim/serving/rank_pools.hpp"

#include <algorithm>
#include <utility>

#include "sim/kernel/check.hpp"

namespace headroom {

RankPools::RankPools(std::vector<std::unique_ptr<KvAllocator>> pools)
    : KvAllocator(pools.front()->sequence()), pools_(std::move(pools)) {
  HEADROOM_CHECK(pools_.size() > 1, "data ranks of one pool");
  for (const auto& pool : pools_) {
    HEADROOM_CHECK(pool->tier_counts() == nullptr && pool->pool().grows_with_decode,
                   "a data rank with a second tier, or with room for all that comes");
  }
  ranks_ = this;
  if (pools_.front()->windows() != nullptr) windows_ = this;
  add_up();
}

void RankPools::add_up() {
  pool_ = pools_.front()->pool();
  for (std::size_t rank = 1; rank < pools_.size(); ++rank) {
    const KvPoolState& pool = pools_[rank]->pool();
    pool_.total_blocks += pool.total_blocks;
    pool_.free_blocks += pool.free_blocks;
    pool_.cached_blocks += pool.cached_blocks;
    pool_.largest_hole += pool.largest_hole;
    pool_.shared_blocks += pool.shared_blocks;
    pool_.step_blocks += pool.step_blocks;
    HEADROOM_CHECK(!pools_[rank]->has_traffic(), "copies within the pool of a data rank");
  }
  order_free_blocks();
}

// Of all free blocks, so many go before a cached one as the rank with fewest has without content:
// behind them it depends on who takes the next one. Unless no rank has any, or no content.
void RankPools::order_free_blocks() {
  bool any_plain = false;
  BlockCount fewest = pool_.free_blocks;
  for (const auto& pool : pools_) {
    const KvPoolState& state = pool->pool();
    any_plain = any_plain || state.free_blocks > state.cached_blocks;
    fewest = std::min(fewest, state.plain_first());
  }
  const bool ordered = pool_.cached_blocks == 0 || !any_plain;
  pool_.mixed_blocks = ordered ? 0 : pool_.free_blocks - fewest;
  pool_.mixed_plain = ordered ? 0 : pool_.free_blocks - pool_.cached_blocks - fewest;
}

void RankPools::take_steps(std::span<const DecodeSet> decodes, StepCount steps) {
  for (std::size_t rank = 0; rank < pools_.size(); ++rank) {
    const BlockCount blocks = decodes[rank].blocks_needed(steps);
    if (blocks > 0) pools_[rank]->take(blocks);
  }
  add_up();
}

TokenCount RankPools::cached_prefix(RequestId id, const Request& request) const {
  if (id != kNoRequest) return pools_[request.rank]->cached_prefix(id, request);
  TokenCount most = 0;
  for (const auto& pool : pools_) most = std::max(most, pool->cached_prefix(id, request));
  return most;
}

bool RankPools::try_grow(const KvGrowth& growth) {
  HEADROOM_CHECK(growth.request != nullptr, "growth of a request whose rank is not known");
  const bool grown = pools_[growth.request->rank]->try_grow(growth);
  add_up();
  return grown;
}

void RankPools::take(BlockCount /*blocks*/) { HEADROOM_CHECK(false, "blocks of no data rank"); }

void RankPools::release(RequestId id, const Request& request, TokenCount held_tokens, KvRelease how,
                        TokenCount unnamed_tokens) {
  pools_[request.rank]->release(id, request, held_tokens, how, unnamed_tokens);
  add_up();
}

void RankPools::on_engine_lost() {
  for (const auto& pool : pools_) pool->on_engine_lost();
  add_up();
}

void RankPools::begin_plan() {
  for (const auto& pool : pools_) pool->windows()->begin_plan();
  add_up();
}

void RankPools::move(RequestId id, const Request& request, TokenCount tokens) {
  pools_[request.rank]->windows()->move(id, request, tokens);
  add_up();
}

}  // namespace headroom
