#include "scheduler/batching/vllm_drafts.hpp"

#include <algorithm>

#include "sim/kernel/check.hpp"

namespace headroom {

VllmDraftScheduler::VllmDraftScheduler(const SchedulerOptions& options) : VllmBatch(options) {
  HEADROOM_CHECK(options.speculation.num_speculative_tokens > 0, "speculation without drafts");
  HEADROOM_CHECK(policy() == SchedulingPolicy::fcfs && !options.enable_lora,
                 "speculative decoding under priorities, or with LoRA");
}

void VllmDraftScheduler::plan(const PlanContext& context, BatchPlan& plan) {
  const SchedulerOptions& options = this->options();
  TokenCount budget = options.max_num_batched_tokens -
                      TokenCount{options.max_num_seqs} * options.speculation.budget_tokens;
  const RequestList& running = this->running().listed();
  RequestId following = kNoRequest;
  for (RequestId id = running.front(); id != kNoRequest; id = following) {
    if (!run(context, plan, id, budget)) break;  // it was the last one
    following = running.after(id);
  }
  context.take_decodes();
  if (plan.preempted.empty()) admit_waiting(context, plan, budget);
}

// Schedules one running request, in order. False: it was preempted for lack of blocks itself.
bool VllmDraftScheduler::run(const PlanContext& context, BatchPlan& plan, RequestId id,
                             TokenCount& budget) {
  const Request& request = context.requests[id];
  const bool decodes = request.state == RequestState::decoding;
  const TokenCount computed = computed_by(request, context.decodes_planned);
  const TokenCount left =
      decodes ? 1 + options().speculation.num_speculative_tokens : request.known_tokens - computed;
  TokenCount tokens = std::min(uncut_chunk(left), budget);
  // The last position of the context is never computed.
  if (decodes) tokens = std::min(tokens, options().max_model_len - 1 - computed);
  if (tokens > 0) {
    const TokenCount slots = std::min<TokenCount>(
        computed + tokens + options().speculation.lookahead_tokens, options().max_model_len);
    while (!context.kv.try_grow({.id = id,
                                 .request = &request,
                                 .hold_tokens = slots,
                                 .lookahead_tokens = slots - computed - tokens})) {
      const RequestId victim = running().next();
      preempt(context, plan, victim);
      if (victim == id) return false;
    }
  }
  budget -= tokens;
  if (decodes) {
    plan.verified.push_back({id, static_cast<std::int32_t>(tokens)});
  } else if (tokens > 0) {
    plan.chunks.push_back({.id = id,
                           .context_tokens = static_cast<std::int32_t>(computed),
                           .tokens = static_cast<std::int32_t>(tokens),
                           .samples = tokens == left});
    if (tokens == left) complete_prompt(id);
  }
  return true;
}

}  // namespace headroom
