#include "scheduler/batching/whole_prompt_batch.hpp"

#include <algorithm>

#include "scheduler/batching/decode_first.hpp"
#include "sim/kernel/check.hpp"
#include "sim/serving/kv_layout.hpp"

namespace headroom {

WholePromptBatch::WholePromptBatch(const SchedulerOptions& options) : options_(options) {
  HEADROOM_CHECK(options.max_num_batched_tokens >= options.max_num_seqs,
                 "max_num_batched_tokens must be at least max_num_seqs");
}

void WholePromptBatch::plan_prefill_first(const PlanContext& context, BatchPlan& plan) {
  TokenCount budget = options_.max_num_batched_tokens;
  if (swapped_.empty()) admit(context, plan, budget, Prompts::whole);
  plan.decodes_pause = !plan.chunks.empty();
  if (plan.decodes_pause) return;
  decode(context, plan);
  budget -= context.decodes.size();
  if (plan.preempted.empty()) swap_in(context, plan, budget);
  if (!plan.chunks.empty()) return;
  look_ahead(context, plan, budget);
}

void WholePromptBatch::plan_decode_first(const PlanContext& context, BatchPlan& plan) {
  decode(context, plan);
  TokenCount budget = options_.max_num_batched_tokens - context.decodes.size();
  continue_prefill(context, plan, budget);
  if (plan.preempted.empty() && prefilling_ == kNoRequest) swap_in(context, plan, budget);
  if (plan.preempted.empty() && swapped_.empty()) admit(context, plan, budget, Prompts::cut);
  if (plan.chunks.empty()) look_ahead(context, plan, budget);
}

// After a plan without chunks: how long it stays right.
void WholePromptBatch::look_ahead(const PlanContext& context, BatchPlan& plan,
                                  TokenCount budget) const {
  const bool gave_up_swapped = options_.swap_blocks > 0 && !plan.rejected.empty();
  if (plan.preempted.empty() && !gave_up_swapped) {
    // A blocked head stays blocked: free blocks only become fewer until a request finishes.
    plan.steady_steps = context.steady_decodes(context.kv.pool().free_blocks);
    plan.arrivals_can_join = waiting_.empty() && swapped_.empty() &&
                             running_.size() < options_.max_num_seqs && budget > 0;
  } else if (running_.empty()) {
    // The only running request has outgrown the pool: plan again at once for the waiting ones.
    plan.wake_at_ns = context.now_ns;
  }
}

void WholePromptBatch::decode(const PlanContext& context, BatchPlan& plan) {
  const BlockCount usable = context.kv.pool().free_blocks - set_aside(context);
  if (prefilling_ != kNoRequest && context.decodes.blocks_needed() > usable) {
    preempt_last(context, plan);
  }
  take_decodes_first(
      context, [&] { return running_.back(); }, [&] { preempt_last(context, plan); });
}

// Blocks that the prompt in progress still needs.
BlockCount WholePromptBatch::set_aside(const PlanContext& context) const {
  if (prefilling_ == kNoRequest || !context.kv.pool().grows_with_decode) return 0;
  const Request& request = context.requests[prefilling_];
  const std::int32_t block = context.kv.pool().block_tokens;
  return blocks_needed(request.known_tokens, block) - blocks_needed(request.computed_tokens, block);
}

void WholePromptBatch::continue_prefill(const PlanContext& context, BatchPlan& plan,
                                        TokenCount& budget) {
  if (prefilling_ == kNoRequest || budget == 0) return;
  const RequestId id = prefilling_;
  const Request& request = context.requests[id];
  const std::int32_t left = request.known_tokens - request.computed_tokens;
  const auto tokens = static_cast<std::int32_t>(std::min<TokenCount>(left, budget));
  // Refused only by a pool that needs more than set_aside() says (windows, placement).
  if (!context.kv.try_grow(
          {.id = id, .request = &request, .hold_tokens = request.computed_tokens + tokens})) {
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

// Whether the whole prompt finds room, without regard to prefixes that others hold. Nothing is set
// aside while there is budget left to admit with.
WholePromptBatch::Room WholePromptBatch::room_for(const PlanContext& context,
                                                  const Request& request, Prompts prompts) const {
  const KvPoolState& pool = context.kv.pool();
  const BlockCount need = blocks_needed(request.known_tokens, pool.block_tokens) +
                          watermark_blocks(options_.watermark, pool.total_blocks);
  const bool too_long =
      prompts == Prompts::whole && request.known_tokens > options_.max_num_batched_tokens;
  if (too_long || need > pool.total_blocks) return Room::never;
  return need > pool.free_blocks ? Room::later : Room::now;
}

void WholePromptBatch::admit(const PlanContext& context, BatchPlan& plan, TokenCount& budget,
                             Prompts prompts) {
  while (!waiting_.empty() && budget > 0 && running_.size() < options_.max_num_seqs) {
    const RequestId id = waiting_.front();
    const Request& request = context.requests[id];
    const Room room = room_for(context, request, prompts);
    if (room == Room::later) return;
    if (room == Room::never) {
      waiting_.pop_front();
      plan.rejected.push_back(id);
      continue;
    }
    const TokenCount cached = context.kv.cached_prefix(id, request);
    const TokenCount left = request.known_tokens - cached;
    if (prompts == Prompts::whole && left > budget) return;
    const TokenCount tokens = std::min(left, budget);
    const KvGrowth growth{
        .id = id,
        .request = &request,
        .cached_tokens = cached,
        .hold_tokens = cached + tokens,
        .fit_tokens = request.known_tokens,
        .final_tokens = TokenCount{request.prompt_tokens} + request.reserved_output,
        .keep_free = watermark_blocks(options_.watermark, context.kv.pool().total_blocks)};
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

void WholePromptBatch::preempt_last(const PlanContext& context, BatchPlan& plan) {
  HEADROOM_CHECK(!running_.empty(), "blocks are short but no request runs");
  const RequestId id = running_.back();
  running_.remove(id);
  const BlockCount room = options_.swap_blocks - swap_used_;
  if (prefilling_ != id && swapped_blocks(context, id) <= room) {
    return swap_out(context, plan, id);
  }
  context.preempt(id, plan);
  if (prefilling_ == id) prefilling_ = kNoRequest;
  waiting_.push_front(id);
}

// Of a decoding request, without what the step in planning has taken for it.
BlockCount WholePromptBatch::swapped_blocks(const PlanContext& context, RequestId id) const {
  return blocks_needed(computed_by(context.requests[id], context.decodes_planned),
                       context.kv.pool().block_tokens);
}

void WholePromptBatch::swap_out(const PlanContext& context, BatchPlan& plan, RequestId id) {
  swapped_.push_back({id, swapped_blocks(context, id)});
  swap_used_ += swapped_.back().blocks;
  context.swap_out(id, plan);
}

void WholePromptBatch::swap_in(const PlanContext& context, BatchPlan& plan, TokenCount& budget) {
  const KvPoolState& pool = context.kv.pool();
  const BlockCount watermark = watermark_blocks(options_.watermark, pool.total_blocks);
  while (!swapped_.empty() && budget > 0 && running_.size() < options_.max_num_seqs) {
    const auto [id, blocks] = swapped_.front();
    // V0 wants a free block for the next token, whether that begins one or not.
    const BlockCount need = blocks + 1 + watermark;
    if (need > pool.total_blocks) {
      plan.rejected.push_back(id);
    } else if (need > pool.free_blocks || !context.try_resume(id, watermark, plan)) {
      return;
    } else {
      running_.push_back(id);
      --budget;
    }
    swap_used_ -= blocks;
    swapped_.erase(swapped_.begin());
  }
}

void WholePromptBatch::on_leave(RequestId id) {
  const auto swapped = std::ranges::find(swapped_, id, &Swapped::id);
  if (swapped != swapped_.end()) {
    swap_used_ -= swapped->blocks;
    swapped_.erase(swapped);
    return;
  }
  (running_.contains(id) ? running_ : waiting_).remove(id);
  if (prefilling_ == id) prefilling_ = kNoRequest;
}

void WholePromptBatch::on_engine_lost() {
  running_.clear();
  for (std::size_t i = swapped_.size(); i-- > 0;) waiting_.push_front(swapped_[i].id);
  swapped_.clear();
  swap_used_ = 0;
  prefilling_ = kNoRequest;
}

}  // namespace headroom
