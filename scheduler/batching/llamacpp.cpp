#include "scheduler/batching/llamacpp.hpp"

#include <algorithm>

#include "sim/kernel/check.hpp"

namespace headroom {

LlamaCppScheduler::LlamaCppScheduler(const SchedulerOptions& options, const SlotAssignment& slots)
    : options_(options), slots_(slots) {
  HEADROOM_CHECK(slots.slots() == options.max_num_seqs, "one slot for each sequence");
}

void LlamaCppScheduler::enqueue(RequestId id, const Request&) { waiting_.push_back(id); }

void LlamaCppScheduler::plan(const PlanContext& context, BatchPlan& plan) {
  give_slots(context);
  if (context.decodes.size() > slots_.room()) return fail_all(context, plan);
  fill_batch(context, plan);
  if (!plan.chunks.empty()) return;
  if (!prompts_.empty() && context.decodes.size() == 0) return fail_all(context, plan);
  // Only decodes (or more of them than n_batch): nothing changes until a request leaves, or cells
  // run out.
  plan.steady_steps =
      context.kv.pool().grows_with_decode ? context.steady_decodes(slots_.room()) : kManySteps / 2;
  plan.arrivals_can_join = waiting_.empty() && context.kv.pool().free_blocks > 0;
}

// Requests that have a slot and have not begun fail as well. They are told of, because the replica
// takes them for waiting ones.
void LlamaCppScheduler::fail_all(const PlanContext& context, BatchPlan& plan) {
  plan.failure = PlanFailure::out_of_cells;
  plan.wanted_tokens = std::max<TokenCount>(1, context.decodes.size());
  for (const Prompt& prompt : prompts_) {
    if (!prompt.begun) plan.lost.push_back(prompt.id);
  }
  std::erase_if(prompts_, [](const Prompt& prompt) { return !prompt.begun; });
}

void LlamaCppScheduler::give_slots(const PlanContext& context) {
  const bool takes_cells_later = context.kv.pool().grows_with_decode;
  while (!waiting_.empty()) {
    const RequestId id = waiting_.front();
    const Request& request = context.requests[id];
    const TokenCount cached = context.kv.cached_prefix(id, request);
    if (!context.kv.try_grow(
            {.id = id,
             .request = &request,
             .cached_tokens = cached,
             .hold_tokens = takes_cells_later ? 0 : request.known_tokens,
             .fit_tokens = request.known_tokens,
             .final_tokens = TokenCount{request.prompt_tokens} + request.reserved_output})) {
      return;
    }
    waiting_.pop_front();
    const Prompt prompt{.slot = slots_.slot_of(id),
                        .id = id,
                        .computed_tokens = static_cast<std::int32_t>(cached),
                        .launch = ++launches_};
    const auto behind = std::ranges::lower_bound(prompts_, prompt.slot, {}, &Prompt::slot);
    prompts_.insert(behind, prompt);
  }
}

void LlamaCppScheduler::fill_batch(const PlanContext& context, BatchPlan& plan) {
  TokenCount budget = options_.max_num_batched_tokens - context.decodes.size();
  context.take_decodes();
  std::size_t complete = 0;
  for (Prompt& prompt : prompts_) {
    if (budget <= 0) break;
    const Request& request = context.requests[prompt.id];
    const std::int32_t left = request.known_tokens - prompt.computed_tokens;
    const TokenCount fits = slots_.longest(prompt.id) - prompt.computed_tokens;
    const auto tokens = static_cast<std::int32_t>(std::min({TokenCount{left}, budget, fits}));
    if (tokens <= 0) break;  // the cells are used up
    const bool grown =
        context.kv.try_grow({.id = prompt.id,
                             .request = &request,
                             .hold_tokens = TokenCount{prompt.computed_tokens} + tokens});
    HEADROOM_CHECK(grown, "cells that were free");
    plan.chunks.push_back({.id = prompt.id,
                           .context_tokens = prompt.computed_tokens,
                           .tokens = tokens,
                           .admits = !prompt.begun,
                           .samples = tokens == left});
    prompt.begun = true;
    prompt.computed_tokens += tokens;
    budget -= tokens;
    if (tokens == left) ++complete;  // only the last chunk of a batch can be cut short
  }
  prompts_.erase(prompts_.begin(), prompts_.begin() + static_cast<std::ptrdiff_t>(complete));
}

bool LlamaCppScheduler::on_leave(RequestId id) {
  if (waiting_.contains(id)) {
    waiting_.remove(id);
  } else {
    std::erase_if(prompts_, [id](const Prompt& prompt) { return prompt.id == id; });
  }
  return true;
}

// Requests that had a slot and no chunk yet are still waiting for the replica.
void LlamaCppScheduler::on_engine_lost() {
  std::ranges::sort(prompts_, std::ranges::greater{}, &Prompt::launch);
  for (const Prompt& prompt : prompts_) {
    if (!prompt.begun) waiting_.push_front(prompt.id);
  }
  prompts_.clear();
}

const BatchPolicy& llamacpp_policy() {
  static const BatchPolicy kPolicy{
      .name = "llamacpp",
      .doc = "llama.cpp's server: slots with a context each, decodes before prompts",
      .traits = {.has_token_budget = true, .has_stages = true, .stages_in_turn = true},
      .allocators = {"slots"},
      .make = [](const SchedulerOptions& options,
                 const KvAllocator& kv) -> std::unique_ptr<BatchScheduler> {
        const auto* slots = dynamic_cast<const SlotAssignment*>(&kv);
        HEADROOM_CHECK(slots != nullptr, "scheduler llamacpp without slots");
        return std::make_unique<LlamaCppScheduler>(options, *slots);
      }};
  return kPolicy;
}

}  // namespace headroom
