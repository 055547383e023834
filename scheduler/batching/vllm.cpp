#include "scheduler/batching/vllm.hpp"

#include <algorithm>

#include "scheduler/batching/decode_first.hpp"
#include "scheduler/batching/vllm_drafts.hpp"
#include "sim/kernel/check.hpp"
#include "sim/kernel/likely.hpp"

namespace headroom {

void VllmScheduler::plan(const PlanContext& context, BatchPlan& plan) {
  const SchedulerOptions& options = this->options();
  const PolicyQueue& running = this->running();
  if (rarely(!prefilling().empty())) make_room(context, plan);
  take_decodes_first(
      context, [&] { return running.next(); }, [&] { preempt(context, plan, running.next()); });
  TokenCount budget = options.max_num_batched_tokens - context.decodes.size();
  if (!prefilling().empty()) continue_prefills(context, plan, budget);
  const bool preempted = !plan.preempted.empty();
  const bool somebody_waits = next_waiting(context) != kNoRequest;
  if (!preempted && somebody_waits) admit_waiting(context, plan, budget);

  if (!plan.chunks.empty() || preempted) return;
  // Only decodes: the same step repeats until the pool is used up. A blocked head stays blocked,
  // because free blocks only become fewer until a request finishes, which needs a new plan anyway.
  // An arrival waits behind it, unless its priority puts it in front or all waiting requests only
  // wait for adapters.
  plan.steady_steps = context.steady_decodes(context.kv.pool().free_blocks);
  const bool arrival_is_looked_at = !somebody_waits || policy() == SchedulingPolicy::priority;
  plan.arrivals_can_join =
      arrival_is_looked_at && running.size() < options.max_num_seqs && budget > 0;
}

// New blocks of the next chunks of all prompts in progress.
BlockCount VllmScheduler::blocks_for_chunks(const PlanContext& context) const {
  TokenCount budget = options().max_num_batched_tokens - context.decodes.size();
  const SequenceBlocks& sequence = context.kv.sequence();
  BlockCount blocks = 0;
  for (RequestId id = prefilling().front(); id != kNoRequest && budget > 0;
       id = prefilling().after(id)) {
    const Request& request = context.requests[id];
    const TokenCount tokens =
        std::min(uncut_chunk(request.known_tokens - request.computed_tokens), budget);
    blocks += sequence.new_in_step(request.computed_tokens, request.computed_tokens + tokens);
    budget -= tokens;
  }
  return blocks;
}

// Prompts in progress may need blocks of victims that stand behind them and decode, or have chunks
// of their own: those go before anything is taken for this step. A single prompt in progress that
// is the next victim itself is left to the loops that follow.
void VllmScheduler::make_room(const PlanContext& context, BatchPlan& plan) {
  if (!context.kv.pool().grows_with_decode) return;
  while (!prefilling().empty()) {
    const RequestId victim = running().next();
    if (prefilling().size() == 1 && prefilling().front() == victim) return;
    const BlockCount need = context.decodes.blocks_needed() + blocks_for_chunks(context);
    if (need <= context.kv.pool().free_blocks) return;
    preempt(context, plan, victim);
  }
}

void VllmScheduler::continue_prefills(const PlanContext& context, BatchPlan& plan,
                                      TokenCount& budget) {
  RequestId following = kNoRequest;
  for (RequestId id = prefilling().front(); id != kNoRequest && budget > 0; id = following) {
    following = prefilling().after(id);
    const Request& request = context.requests[id];
    const std::int32_t left = request.known_tokens - request.computed_tokens;
    const auto tokens = static_cast<std::int32_t>(std::min(uncut_chunk(left), budget));
    // Refused to the next victim itself, or by placement, which needs more than blocks_for_chunks()
    // says: others have counted their tokens by now, so this one gives way.
    if (!context.kv.try_grow(
            {.id = id, .request = &request, .hold_tokens = request.computed_tokens + tokens})) {
      return preempt(context, plan, id);
    }
    plan.chunks.push_back({.id = id,
                           .context_tokens = request.computed_tokens,
                           .tokens = tokens,
                           .samples = tokens == left});
    if (tokens == left) complete_prompt(id);
    budget -= tokens;
  }
}

namespace {

std::vector<OwnRow> vllm_rows() {
  using V = VllmScheduling;
  static const std::string kPolicyNames = scheduling_policy_names();
  return own_rows<V>({
      {.name = "scheduler_reserve_full_isl",
       .field = &V::scheduler_reserve_full_isl,
       .doc = "admit a request only if its whole prompt fits now"},
      {.name = "long_prefill_token_threshold",
       .field = &V::long_prefill_token_threshold,
       .unit = "tokens",
       .bounds = {.low = 0, .high = 1e9},
       .doc = "longest chunk of a prompt; 0 = only the limit of the step"},
      {.name = "threshold_cuts_lone_prompts",
       .field = &V::threshold_cuts_lone_prompts,
       .doc = "long_prefill_token_threshold also holds for a request that is alone in the engine",
       .absent = "off from vLLM 0.31"},
      {.name = "scheduling_policy",
       .field = &V::scheduling_policy,
       .choices = kPolicyNames,
       .doc = "order in which requests are admitted; preemption goes in the reverse order"},
  });
}

}  // namespace

const BatchPolicy& vllm_policy() {
  static const BatchPolicy kPolicy{
      .name = "vllm",
      .doc = "vLLM V1: decodes and chunks under a token budget, preemption by recompute",
      .traits = {.has_token_budget = true,
                 .seats_within_budget = true,
                 .plans_ahead = true,
                 .has_stages = true,
                 .has_data_ranks = true,
                 .drafts = true,
                 .drafter_drops_match = true,
                 .draft_model_takes_budget = true,
                 .serves_lora = true,
                 .hands_over = true,
                 .writes_tier_through = true,
                 .follows_groups = true,
                 .keeps_prompt_logprobs = true,
                 .enable_chunked_prefill = true,
                 .enable_prefix_caching = true,
                 .watermark = 0.0},
      .allocators = {"paged"},
      .takes = {"enable_prefix_caching", "enable_chunked_prefill", "watermark",
                "kv_offloading_size_gib", "kv_offloading_disk_gib", "kv_offloading_gb_per_s",
                "api_server_count", "api_server", "speculative_config/method"},
      .options = vllm_rows,
      .finds_prefixes = [](const OptionBag&, bool asked) { return asked; },
      .longest_chunk =
          [](const OptionBag& own) {
            return own.get<VllmScheduling>().long_prefill_token_threshold;
          },
      .by_priority =
          [](const OptionBag& own) {
            return policy_of(own.get<VllmScheduling>()) == SchedulingPolicy::priority;
          },
      .make = [](const SchedulerOptions& options,
                 const KvAllocator&) -> std::unique_ptr<BatchScheduler> {
        if (options.speculation.num_speculative_tokens > 0) {
          return std::make_unique<VllmDraftScheduler>(options);
        }
        return std::make_unique<VllmScheduler>(options);
      }};
  return kPolicy;
}

}  // namespace headroom
