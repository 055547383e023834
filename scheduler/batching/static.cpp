#include "scheduler/batching/static.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "sim/kernel/check.hpp"
#include "sim/serving/kv_layout.hpp"

namespace headroom {

StaticScheduler::StaticScheduler(const SchedulerOptions& options)
    : options_(options),
      batch_wait_ns_(
          static_cast<TimeNs>(options.own.get<StaticScheduling>().batch_wait_ms / 1e3 * 1e9 + 0.5)),
      preferred_batch_sizes_(options.own.get<StaticScheduling>().preferred_batch_size) {}

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
  const TimeNs latest = context.requests[waiting_.front()].arrival_ns + batch_wait_ns_;
  if (batch_wait_ns_ > 0 && context.now_ns >= latest) return pending;
  const auto& sizes = preferred_batch_sizes_;
  const auto above = std::upper_bound(sizes.begin(), sizes.end(), pending);
  if (above != sizes.begin()) return *std::prev(above);
  if (batch_wait_ns_ == 0 || pending == options_.max_num_seqs) return pending;
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
  return batch.rows * blocks_needed(pool.taken_by(row), pool.block_tokens);
}

// The prefill of a batch that was not sized to the pool runs out of memory, and its requests are
// lost.
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

namespace {

std::vector<OwnRow> static_rows() {
  using S = StaticScheduling;
  return own_rows<S>({
      {.name = "batch_wait_ms",
       .field = &S::batch_wait_ms,
       .unit = "ms",
       .bounds = {.low = 0, .high = 1e9},
       .doc = "longest time that a batch waits to fill up"},
      {.name = "preferred_batch_size",
       .field = &S::preferred_batch_size,
       .unit = "requests",
       .bounds = kCount,
       .doc = "batch sizes to send at once, before the wait is over; the largest possible one is "
              "sent"},
      {.name = "stream",
       .field = &S::stream,
       .doc = "send tokens to clients at once, not when the batch ends"},
  });
}

void settle_sizes(const Origins& given, OptionBag& own, std::int64_t max_num_seqs) {
  std::vector<std::int64_t>& sizes = own.edit<StaticScheduling>().preferred_batch_size;
  std::ranges::sort(sizes);
  for (const std::int64_t size : sizes) {
    if (size <= max_num_seqs) continue;
    given.refuse("/engine/preferred_batch_size",
                 fmt::format("{}: a batch has at most {} requests", size, max_num_seqs),
                 ErrorKind::value);
  }
}

}  // namespace

const BatchPolicy& static_policy() {
  static const BatchPolicy kPolicy{
      .name = "static",
      .doc = "padded batches that run until their longest output ends",
      .traits = {.whole_batches = true},
      .allocators = {"contiguous", "paged"},
      .options = static_rows,
      .streams = [](const OptionBag& own) { return own.get<StaticScheduling>().stream; },
      .settle = settle_sizes,
      .make = [](const SchedulerOptions& options,
                 const KvAllocator&) -> std::unique_ptr<BatchScheduler> {
        return std::make_unique<StaticScheduler>(options);
      }};
  return kPolicy;
}

}  // namespace headroom
