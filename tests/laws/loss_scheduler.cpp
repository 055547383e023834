#include "tests/laws/loss_scheduler.hpp"

namespace headroom::laws {

void LossScheduler::enqueue(RequestId id, const Request&) { new_.push_back(id); }

void LossScheduler::plan(const PlanContext& context, BatchPlan& plan) {
  context.take_decodes();
  for (const RequestId id : new_) {
    const Request& request = context.requests[id];
    const TokenCount whole = TokenCount{request.prompt_tokens} + request.reserved_output;
    if (running_ == seats_ || !context.kv.try_grow({.id = id,
                                                    .request = &request,
                                                    .hold_tokens = request.prompt_tokens,
                                                    .fit_tokens = whole,
                                                    .final_tokens = whole})) {
      plan.rejected.push_back(id);
      continue;
    }
    ++running_;
    plan.chunks.push_back(
        {.id = id, .tokens = request.prompt_tokens, .admits = true, .samples = true});
  }
  new_.clear();
  if (plan.chunks.empty()) plan.steady_steps = kManySteps / 2;
}

// Nobody gives up, and who is new is seen before anybody else leaves: `id` was running.
bool LossScheduler::on_leave(RequestId) {
  --running_;
  return true;
}

}  // namespace headroom::laws
