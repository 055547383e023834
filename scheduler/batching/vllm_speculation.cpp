// vLLM's step with speculative decoding: the loop over the running requests as it stands in
// ENGINES.md 3.1, each decode with its drafts. Steps are planned one by one, so the plan may look
// at every row.

#include <algorithm>

#include "scheduler/batching/vllm.hpp"

namespace headroom {

void VllmScheduler::plan_verified(const PlanContext& context, BatchPlan& plan) {
  TokenCount budget = options_.max_num_batched_tokens;
  const RequestList& batch = running_.listed();
  RequestId following = kNoRequest;
  for (RequestId id = batch.front(); id != kNoRequest; id = following) {
    if (!run_verified(context, plan, id, budget)) break;  // it was the last one
    following = batch.after(id);
  }
  context.take_decodes();
  if (plan.preempted.empty()) admit_waiting(context, plan, budget);
}

// Schedules one running request, in order. False: it was preempted for lack of blocks itself.
bool VllmScheduler::run_verified(const PlanContext& context, BatchPlan& plan, RequestId id,
                                 TokenCount& budget) {
  const Request& request = context.requests[id];
  const bool decodes = request.state == RequestState::decoding;
  const TokenCount computed = computed_by(request, context.decodes_planned);
  const TokenCount left =
      decodes ? 1 + options_.speculation.num_speculative_tokens : request.known_tokens - computed;
  TokenCount tokens = std::min(uncut_chunk(left), budget);
  // The last position of the context is never computed.
  if (decodes) tokens = std::min(tokens, options_.max_model_len - 1 - computed);
  if (tokens > 0) {
    const TokenCount slots = std::min<TokenCount>(
        computed + tokens + options_.speculation.lookahead_tokens, options_.max_model_len);
    while (!context.kv.try_grow({.id = id,
                                 .request = &request,
                                 .hold_tokens = slots,
                                 .lookahead_tokens = slots - computed - tokens})) {
      const RequestId victim = running_.next();
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
    if (tokens == left) prefilling_.remove(id);
  }
  return true;
}

}  // namespace headroom
