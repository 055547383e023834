#include "scheduler/batching/static.hpp"

#include <algorithm>
#include <iterator>

#include "sim/kernel/check.hpp"
#include "sim/serving/kv_layout.hpp"

namespace headroom {

void StaticScheduler::enqueue(RequestId id, const Request&) { waiting_.push_back(id); }

void StaticScheduler::plan(const PlanContext& context, BatchPlan& plan) {
  plan.arrivals_can_join = false;
  if (live_rows_ > 0) return continue_batch(context, plan);
  context.take_decodes();
  if (waiting_.empty()) return;
  const std::int64_t most = rows_to_send(context, plan);
  if (most > 0) start_batch(context, most, plan);
}

// 0: the batch waits, and the plan says until when. Once the oldest request has waited its time the
// preferred sizes mean nothing.
std::int64_t StaticScheduler::rows_to_send(const PlanContext& context, BatchPlan& plan) const {
  const std::int64_t pending = std::min<std::int64_t>(waiting_.size(), options_.max_num_seqs);
  const TimeNs latest = context.requests[waiting_.front()].arrival_ns + options_.batch_wait_ns;
  if (options_.batch_wait_ns > 0 && context.now_ns >= latest) return pending;
  const auto& sizes = preferred_batch_sizes_;
  const auto above = std::upper_bound(sizes.begin(), sizes.end(), pending);
  if (above != sizes.begin()) return *std::prev(above);
  if (options_.batch_wait_ns == 0 || pending == options_.max_num_seqs) return pending;
  plan.wake_at_ns = latest;
  return 0;
}

void StaticScheduler::continue_batch(const PlanContext& context, BatchPlan& plan) const {
  const BlockCount free = context.kv.pool().free_blocks;
  if (context.decodes.blocks_needed() > free) {
    plan.failure = PlanFailure::out_of_device_memory;
    plan.wanted_tokens = context.decodes.blocks_needed() * context.kv.pool().block_tokens;
    return;
  }
  context.take_decodes();
  plan.steady_steps = context.steady_decodes(context.kv.pool().free_blocks);
}

BlockCount StaticScheduler::blocks_of(const Shape& batch, const KvAllocator& kv) {
  const KvPoolState& pool = kv.pool();
  const TokenCount row =
      TokenCount{batch.prompt_tokens} + (pool.grows_with_decode ? 0 : batch.max_tokens);
  return batch.rows * blocks_needed(kv.taken_by(row), pool.block_tokens);
}

// The prefill of a batch that nobody sized runs out of memory: its requests are lost with it.
void StaticScheduler::fail_batch(const Shape& batch, const KvAllocator& kv, BatchPlan& plan) {
  plan.failure = PlanFailure::out_of_device_memory;
  plan.wanted_tokens = blocks_of(batch, kv) * kv.pool().block_tokens;
  for (std::int32_t row = 0; row < batch.rows; ++row) {
    plan.lost.push_back(waiting_.front());
    waiting_.pop_front();
  }
}

StaticScheduler::Shape StaticScheduler::next_batch(const PlanContext& context,
                                                   std::int64_t most) const {
  Shape batch;
  for (RequestId id = waiting_.front(); id != kNoRequest; id = waiting_.after(id)) {
    if (batch.rows == most) break;
    const Request& request = context.requests[id];
    const Shape wider{.rows = batch.rows + 1,
                      .prompt_tokens = std::max(batch.prompt_tokens, request.prompt_tokens),
                      .max_tokens = std::max(batch.max_tokens, request.reserved_output)};
    const KvAllocator& kv = context.kv;
    if (options_.sizes_batches && blocks_of(wider, kv) > kv.pool().free_blocks) break;
    batch = wider;
  }
  return batch;
}

void StaticScheduler::start_batch(const PlanContext& context, std::int64_t most, BatchPlan& plan) {
  const Shape batch = next_batch(context, most);
  if (blocks_of(batch, context.kv) > context.kv.pool().free_blocks) {
    return fail_batch(batch, context.kv, plan);
  }
  for (std::int32_t row = 0; row < batch.rows; ++row) {
    const RequestId id = waiting_.front();
    const KvGrowth growth{.id = id,
                          .request = &context.requests[id],
                          .hold_tokens = batch.prompt_tokens,
                          .fit_tokens = batch.prompt_tokens,
                          .final_tokens = TokenCount{batch.prompt_tokens} + batch.max_tokens};
    const bool fits = context.kv.try_grow(growth);
    HEADROOM_CHECK(fits, "a batch that was sized to the pool does not fit it");
    waiting_.pop_front();
    plan.chunks.push_back({.id = id,
                           .tokens = batch.prompt_tokens,
                           .admits = true,
                           .samples = true,
                           .padding = batch.prompt_tokens - context.requests[id].prompt_tokens});
  }
  live_rows_ = batch.rows;
}

bool StaticScheduler::on_leave(RequestId id) {
  if (waiting_.contains(id)) {
    waiting_.remove(id);
    return true;
  }
  --live_rows_;
  return false;
}

void StaticScheduler::on_engine_lost() { live_rows_ = 0; }

}  // namespace headroom
