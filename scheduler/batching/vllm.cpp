#include "scheduler/batching/vllm.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel/check.hpp"

namespace headroom {

VllmScheduler::VllmScheduler(const SchedulerOptions& options) : options_(options) {
  HEADROOM_CHECK(options.max_num_batched_tokens >= options.max_num_seqs,
                 "max_num_batched_tokens must be at least max_num_seqs");
}

void VllmScheduler::enqueue(RequestId id, const Request&) { waiting_.push_back(id); }

void VllmScheduler::plan(const PlanContext& context, BatchPlan& plan) {
  take_decodes(context, plan);
  TokenCount budget = options_.max_num_batched_tokens - context.decodes.size();
  continue_prefill(context, plan, budget);
  const bool preempted = !plan.preempted.empty();
  if (!preempted) admit_waiting(context, plan, budget);

  if (!plan.chunks.empty() || preempted) return;
  // Only decodes: the same step again until the pool is used up. A blocked head stays blocked: free
  // blocks only become fewer until somebody finishes, and that is a plan of its own.
  plan.steady_steps =
      1 + context.decodes.steps_within(context.kv.pool().free_blocks, kManySteps / 2);
  plan.arrivals_can_join =
      waiting_.empty() && running_.size() < options_.max_num_seqs && budget > 0;
}

// Decodes stand before everything else in the running list and take one token each. This is the
// loop of ENGINES.md 3.1 in sums: the first ones take all free blocks, the next one in need
// preempts the last, and so on. The last is never among those that have taken a block already.
void VllmScheduler::take_decodes(const PlanContext& context, BatchPlan& plan) {
  BlockCount taken = 0;
  while (context.decodes.blocks_needed(1) > taken + context.kv.pool().free_blocks) {
    const BlockCount free = context.kv.pool().free_blocks;
    context.kv.take(free);
    taken += free;
    preempt_last(context, plan);
  }
  context.take_decodes(taken);
}

void VllmScheduler::continue_prefill(const PlanContext& context, BatchPlan& plan,
                                     TokenCount& budget) {
  if (prefilling_ == kNoRequest || budget == 0) return;
  const RequestId id = prefilling_;
  const Request& request = context.requests[id];
  const std::int32_t left = request.known_tokens - request.computed_tokens;
  const auto tokens = static_cast<std::int32_t>(std::min<TokenCount>(left, budget));
  if (!context.kv.try_grow({.id = id, .hold_tokens = request.computed_tokens + tokens})) {
    HEADROOM_CHECK(running_.back() == id, "a request behind the one in prefill");
    return preempt_last(context, plan);
  }
  plan.chunks.push_back({.id = id,
                         .context_tokens = request.computed_tokens,
                         .tokens = tokens,
                         .samples = tokens == left});
  if (tokens == left) prefilling_ = kNoRequest;
  budget -= tokens;
}

void VllmScheduler::admit_waiting(const PlanContext& context, BatchPlan& plan, TokenCount& budget) {
  while (!waiting_.empty() && budget > 0 && running_.size() < options_.max_num_seqs) {
    const RequestId id = waiting_.front();
    const Request& request = context.requests[id];
    const TokenCount cached = context.kv.cached_prefix(id, request);
    const TokenCount left = request.known_tokens - cached;
    if (!options_.enable_chunked_prefill && left > budget) return;
    const TokenCount tokens = std::min(left, budget);
    const bool others = !running_.empty() || context.decodes.size() > 0;
    const KvGrowth growth{
        .id = id,
        .cached_tokens = cached,
        .hold_tokens = cached + tokens,
        .fit_tokens = options_.reserve_full_isl ? request.known_tokens : cached + tokens,
        .final_tokens = TokenCount{request.prompt_tokens} + request.max_tokens,
        .keep_free =
            others ? static_cast<BlockCount>(options_.watermark *
                                             static_cast<double>(context.kv.pool().total_blocks))
                   : 0};
    if (!context.kv.try_grow(growth)) return;
    waiting_.pop_front();
    running_.push_back(id);
    plan.chunks.push_back({.id = id,
                           .context_tokens = static_cast<std::int32_t>(cached),
                           .tokens = static_cast<std::int32_t>(tokens),
                           .admits = true,
                           .samples = tokens == left});
    if (tokens < left) prefilling_ = id;
    budget -= tokens;
  }
}

void VllmScheduler::preempt_last(const PlanContext& context, BatchPlan& plan) {
  HEADROOM_CHECK(!running_.empty(), "blocks are short and nobody runs");
  const RequestId id = running_.back();
  context.preempt(id, plan);
  running_.remove(id);
  if (prefilling_ == id) prefilling_ = kNoRequest;
  waiting_.push_front(id);
}

bool VllmScheduler::on_leave(RequestId id) {
  (running_.contains(id) ? running_ : waiting_).remove(id);
  if (prefilling_ == id) prefilling_ = kNoRequest;
  return true;
}

void VllmScheduler::on_engine_lost() {
  running_.clear();
  prefilling_ = kNoRequest;
}

}  // namespace headroom
