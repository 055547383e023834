// From a resolved scenario to the option structs of the replica's parts.

#include <algorithm>

#include "sim/kernel/seconds.hpp"
#include "sim/resolve/parallel.hpp"
#include "sim/resolve/resolve.hpp"

namespace headroom {
namespace {

// A row is in one micro-batch of a pipeline at a time, with asynchronous scheduling, too (vLLM pull
// request 32359).
std::int32_t pipeline_depth(const Resolved& resolved) {
  return resolved.async_scheduling && resolved.sharding.pipeline == 1 ? 2 : 1;
}

}  // namespace

bool sets_aside(const EngineSystem& system) {
  return system.scheduler->traits.sets_aside || !system.allocator->in_blocks;
}

bool promises_room(const Resolved& resolved) {
  const auto promises = resolved.scheduler->promises_completion;
  return sets_aside(resolved) || (promises != nullptr && promises(resolved.scenario.engine.own));
}

bool serves_by_priority(const Resolved& resolved) {
  const auto by_priority = resolved.scheduler->by_priority;
  return by_priority != nullptr && by_priority(resolved.scenario.engine.own);
}

bool finds_prefixes(const Resolved& resolved) {
  const EngineSection& e = resolved.scenario.engine;
  if (const auto of_allocator = resolved.allocator->finds_prefixes) {
    if (const std::optional<bool> finds = of_allocator(e.own)) return *finds;
  }
  const auto of_policy = resolved.scheduler->finds_prefixes;
  return of_policy != nullptr && of_policy(e.own, e.enable_prefix_caching.value_or(false));
}

SchedulerOptions scheduler_options(const Resolved& resolved) {
  const EngineSection& e = resolved.scenario.engine;
  const BatchPolicy& policy = *resolved.scheduler;
  SchedulerOptions options;
  const StepLimits limits = rank_limits(resolved);
  options.max_num_seqs = limits.max_num_seqs;
  options.max_num_batched_tokens = limits.max_num_batched_tokens;
  if (policy.traits.seats_per_stage) options.max_micro_batch_seqs = resolved.max_num_seqs;
  if (policy.traits.seats_within_budget) {
    // A budget below the seats of another engine (vLLM has the same rule for its defaults).
    options.max_num_seqs = std::min(options.max_num_seqs, options.max_num_batched_tokens);
  }
  options.max_model_len = resolved.max_model_len;
  options.enable_chunked_prefill = e.enable_chunked_prefill.value_or(true);
  options.watermark = e.watermark.value_or(0);
  if (policy.longest_chunk != nullptr) {
    options.long_prefill_token_threshold = static_cast<std::int32_t>(policy.longest_chunk(e.own));
  }
  options.sizes_batches = !resolved.engine->traits.forms_batches_blindly;
  const auto drafts = static_cast<std::int32_t>(acceptance_rates(e.speculative).size());
  options.speculation.num_speculative_tokens = drafts;
  options.speculation.lookahead_tokens = drafter_has_kv(e.speculative) ? drafts : 0;
  const bool draft_model = e.speculative.method == "draft_model";
  options.speculation.budget_tokens = draft_model && policy.traits.draft_model_takes_budget ? 1 : 0;
  if (const DraftRounds& rounds = resolved.rounds; drafts > 0 && rounds.verified_tokens > 0) {
    options.speculation.verified_tokens = rounds.verified_tokens;
    options.speculation.lookahead_tokens = rounds.slots_ahead - rounds.verified_tokens;
  }
  options.enable_lora = e.enable_lora;
  options.finds_prefixes = finds_prefixes(resolved);
  options.pipeline_depth = pipeline_depth(resolved);
  options.seed = static_cast<std::uint64_t>(resolved.scenario.seed);
  options.own = e.own;
  return options;
}

ReplicaOptions replica_options(const Resolved& resolved) {
  const EngineSection& e = resolved.scenario.engine;
  ReplicaOptions options;
  const StepLimits limits = step_limits(resolved);
  options.max_sequences = limits.max_num_seqs;
  if (resolved.scheduler->traits.has_token_budget) {
    options.max_step_tokens = limits.max_num_batched_tokens;
  }
  options.pipeline_depth = pipeline_depth(resolved);
  // In turn, the stages are one long step (PipelineCost::price).
  options.pipeline_stages = resolved.scheduler->traits.stages_in_turn
                                ? 1
                                : static_cast<std::int32_t>(resolved.sharding.pipeline);
  options.single_step = resolved.scenario.run.single_step;
  const BatchPolicy& policy = *resolved.scheduler;
  options.knows_last_steps =
      policy.runs_past_max_tokens == nullptr || !policy.runs_past_max_tokens(e.own);
  options.cancels_running = !policy.traits.whole_batches;
  options.responds_at_end = policy.streams != nullptr && !policy.streams(e.own);
  options.restart_ns = ns_from_seconds(*e.restart_s);
  options.reboot_ns = ns_from_seconds(resolved.scenario.environment.reboot_s);
  options.queue_survives = *e.queue_survives;
  if (policy.reservation != nullptr) options.reservation = policy.reservation(e.own);
  if (e.speculative.is_on()) {
    options.acceptance = DraftAcceptance(static_cast<std::uint64_t>(resolved.scenario.seed),
                                         acceptance_rates(e.speculative));
    options.verified_tokens = resolved.rounds.verified_tokens;
    options.slots_ahead = resolved.rounds.slots_ahead;
  }
  return options;
}

KvFormat kv_format(const Resolved& resolved) {
  const auto pads = resolved.engine->pads_sparse_latents;
  return {resolved.kv, pads != nullptr && pads(resolved.device, resolved.version)};
}

std::int32_t longest_request(const Resolved& resolved) {
  if (!resolved.engine->traits.ends_with_model_only) return resolved.max_model_len;
  const auto trained = static_cast<std::int32_t>(resolved.model.max_position);
  return std::max(resolved.max_model_len, trained);
}

AdmissionLimits admission_limits(const Resolved& resolved, TokenCount pool_tokens) {
  const EngineSection& e = resolved.scenario.engine;
  const BatchPolicy& policy = *resolved.scheduler;
  AdmissionLimits limits;
  limits.max_model_len = longest_request(resolved);
  limits.max_request_tokens = pool_tokens;
  limits.reserves_max_tokens = promises_room(resolved);
  if (policy.traits.drafts_need_room) {
    limits.max_request_tokens -= static_cast<TokenCount>(acceptance_rates(e.speculative).size());
  }
  if (resolved.engine->limit != nullptr) resolved.engine->limit(e, limits);
  return limits;
}

}  // namespace headroom
