#include "scheduler/batching/trtllm_capacity.hpp"

#include "sim/kernel/check.hpp"
#include "sim/serving/kv_layout.hpp"

namespace headroom {

void BlockClaims::set(RequestId id, BlockCount blocks) {
  if (id >= blocks_.size()) blocks_.resize(id + 1, 0);
  total_ += blocks - blocks_[id];
  blocks_[id] = blocks;
}

void BlockClaims::drop(RequestId id) {
  if (id < blocks_.size()) set(id, 0);
}

void BlockClaims::clear() {
  blocks_.clear();
  total_ = 0;
}

// --- GUARANTEED_NO_EVICT ------------------------------------------------------------------------

TokenCount GuaranteedNoEvict::tokens_to_completion(const Request& request) const {
  return TokenCount{request.prompt_tokens} + request.max_tokens + drafts_;
}

bool GuaranteedNoEvict::is_open(std::int64_t) const { return true; }

// Every holder of blocks is a started request with a claim on all that it will ever hold, and what
// they hold in all is used + shared. The rest of their claims is not for newcomers. Cached blocks
// that the newcomer finds with other holders cost it nothing; those it finds in the free list cost
// a free block each, as new ones do.
TrtllmCapacity::Need GuaranteedNoEvict::need(const Request& request,
                                             const KvPoolState& pool) const {
  const BlockCount remaining = claims_.total() - pool.used_blocks() - pool.shared_blocks;
  HEADROOM_CHECK(remaining >= 0 && remaining <= pool.free_blocks,
                 "started requests cannot run to completion");
  return {.tokens = tokens_to_completion(request), .keep_free = remaining};
}

BlockCount GuaranteedNoEvict::free_for_decodes(const KvPoolState& pool) const {
  return pool.free_blocks;
}

void GuaranteedNoEvict::on_chunk(RequestId id, const Request& request, TokenCount,
                                 const KvPoolState& pool) {
  claims_.set(id, blocks_needed(tokens_to_completion(request), pool.block_tokens));
}

// --- STATIC_BATCH -------------------------------------------------------------------------------

bool StaticBatch::is_open(std::int64_t started) const { return started == 0; }

// --- MAX_UTILIZATION ----------------------------------------------------------------------------

bool MaxUtilization::is_open(std::int64_t) const { return true; }

// Claims are the blocks of prompts that are not computed yet.
TrtllmCapacity::Need MaxUtilization::need(const Request& request, const KvPoolState&) const {
  return {.tokens = request.known_tokens, .keep_free = claims_.total()};
}

BlockCount MaxUtilization::free_for_decodes(const KvPoolState& pool) const {
  HEADROOM_CHECK(claims_.total() <= pool.free_blocks, "a started prompt has lost its blocks");
  return pool.free_blocks - claims_.total();
}

void MaxUtilization::on_chunk(RequestId id, const Request& request, TokenCount tokens,
                              const KvPoolState& pool) {
  claims_.set(id, blocks_needed(request.known_tokens, pool.block_tokens) -
                      blocks_needed(tokens, pool.block_tokens));
}

std::unique_ptr<TrtllmCapacity> make_trtllm_capacity(CapacityPolicy policy, TokenCount drafts) {
  switch (policy) {
    case CapacityPolicy::max_utilization: return std::make_unique<MaxUtilization>();
    case CapacityPolicy::static_batch: return std::make_unique<StaticBatch>(drafts);
    case CapacityPolicy::guaranteed_no_evict: break;
  }
  return std::make_unique<GuaranteedNoEvict>(drafts);
}

}  // namespace headroom
