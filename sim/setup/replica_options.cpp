// From a resolved scenario to the option structs of the replica's parts.

#include <algorithm>

#include "sim/kernel/named_value.hpp"
#include "sim/setup/parallel.hpp"
#include "sim/setup/resolve.hpp"

namespace headroom {
namespace {

CapacityPolicy capacity_policy(std::string_view name) {
  return value_named<CapacityPolicy>(name,
                                     {{"GUARANTEED_NO_EVICT", CapacityPolicy::guaranteed_no_evict},
                                      {"MAX_UTILIZATION", CapacityPolicy::max_utilization},
                                      {"STATIC_BATCH", CapacityPolicy::static_batch}});
}

ChunkingPolicy chunking_policy(std::string_view name) {
  return value_named<ChunkingPolicy>(
      name, {{"FIRST_COME_FIRST_SERVED", ChunkingPolicy::first_come_first_served},
             {"EQUAL_PROGRESS", ChunkingPolicy::equal_progress}});
}

SchedulingPolicy scheduling_policy(std::string_view name) {
  return value_named<SchedulingPolicy>(
      name, {{"fcfs", SchedulingPolicy::fcfs}, {"priority", SchedulingPolicy::priority}});
}

SglangOrder sglang_order(std::string_view name) {
  return value_named<SglangOrder>(name, {{"fcfs", SglangOrder::fcfs},
                                         {"lpm", SglangOrder::lpm},
                                         {"dfs-weight", SglangOrder::dfs_weight},
                                         {"lof", SglangOrder::lof},
                                         {"random", SglangOrder::random}});
}

OutputReservation output_reservation(std::string_view name) {
  return value_named<OutputReservation>(name, {{"max_tokens", OutputReservation::max_tokens},
                                               {"max_model_len", OutputReservation::max_model_len},
                                               {"pow2", OutputReservation::pow2},
                                               {"oracle", OutputReservation::oracle}});
}

SglangOptions sglang_options(const Resolved& resolved) {
  const EngineSection& e = resolved.scenario.engine;
  SglangOptions options;
  options.max_prefill_tokens = static_cast<std::int32_t>(e.max_prefill_tokens);
  const std::int64_t chunk = e.chunked_prefill_size.value_or(options.chunked_prefill_size);
  options.chunked_prefill_size = static_cast<std::int32_t>(std::max<std::int64_t>(0, chunk));
  options.enable_mixed_chunk = e.enable_mixed_chunk;
  options.schedule_conservativeness = e.schedule_conservativeness;
  options.order = sglang_order(e.schedule_policy);
  options.seed = static_cast<std::uint64_t>(resolved.scenario.seed);
  return options;
}

}  // namespace

bool finds_prefixes(const Resolved& resolved) {
  const EngineSection& e = resolved.scenario.engine;
  if (resolved.allocator == AllocatorKind::slots) return e.cache_prompt;
  if (resolved.allocator == AllocatorKind::contiguous) return false;
  switch (resolved.scheduler) {
    case SchedulerKind::vllm:
    case SchedulerKind::vllm_v0:
    case SchedulerKind::tgi:
    case SchedulerKind::sarathi: return e.enable_prefix_caching.value_or(false);
    case SchedulerKind::trtllm: return e.enable_block_reuse;
    case SchedulerKind::sglang: return !e.disable_radix_cache;
    default: return false;
  }
}

SchedulerOptions scheduler_options(const Resolved& resolved) {
  const EngineSection& e = resolved.scenario.engine;
  SchedulerOptions options;
  const StepLimits limits = step_limits(resolved);
  options.max_num_seqs = limits.max_num_seqs;
  options.max_num_batched_tokens = limits.max_num_batched_tokens;
  if (resolved.scheduler == SchedulerKind::vllm || resolved.scheduler == SchedulerKind::sarathi) {
    // A budget below the seats of another engine (vLLM has the same rule for its defaults).
    options.max_num_seqs = std::min(options.max_num_seqs, options.max_num_batched_tokens);
  }
  options.max_model_len = resolved.max_model_len;
  options.enable_chunked_prefill = e.enable_chunked_prefill.value_or(true);
  options.reserve_full_isl = e.scheduler_reserve_full_isl;
  options.watermark = e.watermark.value_or(0);
  options.long_prefill_token_threshold = static_cast<std::int32_t>(e.long_prefill_token_threshold);
  if (limits.max_prompt_chunk > 0) {
    const std::int32_t own = options.long_prefill_token_threshold;
    options.long_prefill_token_threshold =
        own > 0 ? std::min(own, limits.max_prompt_chunk) : limits.max_prompt_chunk;
  }
  options.policy = scheduling_policy(e.scheduling_policy);
  // What calls `generate`, or the dynamic batcher in front of FasterTransformer, knows of no
  // memory.
  const BudgetRule rule = resolved.profile->budget;
  options.sizes_batches = rule != BudgetRule::hf_generate && rule != BudgetRule::fastertransformer;
  options.batch_wait_ns = ns_from_seconds(e.batch_wait_ms / 1e3);
  options.trtllm.capacity_policy = capacity_policy(e.capacity_scheduler_policy);
  options.trtllm.chunking_policy = chunking_policy(e.context_chunking_policy);
  options.sglang = sglang_options(resolved);
  options.tgi.max_batch_prefill_tokens = static_cast<std::int32_t>(
      e.max_batch_prefill_tokens.value_or(TgiOptions{}.max_batch_prefill_tokens));
  options.tgi.waiting_served_ratio = e.waiting_served_ratio;
  options.tgi.max_waiting_tokens = static_cast<std::int32_t>(e.max_waiting_tokens);
  const auto drafts = static_cast<std::int32_t>(acceptance_rates(e.speculative).size());
  options.speculation.num_speculative_tokens = drafts;
  options.speculation.lookahead_tokens = drafter_has_kv(e.speculative) ? drafts : 0;
  options.enable_lora = e.enable_lora;
  return options;
}

ReplicaOptions replica_options(const Resolved& resolved) {
  const EngineSection& e = resolved.scenario.engine;
  ReplicaOptions options;
  const StepLimits limits = step_limits(resolved);
  options.max_sequences = limits.max_num_seqs;
  if (has_token_budget(resolved.scheduler)) {
    options.max_step_tokens = limits.max_num_batched_tokens;
  }
  // Behind a round of micro-batches in flight an arrival would wait for two, where a pipeline takes
  // it into its next micro-batch.
  options.pipeline_depth = resolved.async_scheduling && resolved.sharding.pipeline == 1 ? 2 : 1;
  options.single_step = resolved.scenario.run.single_step;
  options.cancels_running = resolved.scheduler != SchedulerKind::static_batch;
  options.responds_at_end = resolved.scheduler == SchedulerKind::static_batch && !e.stream;
  options.restart_ns = ns_from_seconds(*e.restart_s);
  options.reboot_ns = ns_from_seconds(resolved.scenario.environment.reboot_s);
  options.queue_survives = *e.queue_survives;
  options.reservation = output_reservation(e.kv_reservation);
  if (e.speculative.is_on()) {
    options.acceptance = DraftAcceptance(static_cast<std::uint64_t>(resolved.scenario.seed),
                                         acceptance_rates(e.speculative));
  }
  return options;
}

std::int32_t longest_request(const Resolved& resolved) {
  if (resolved.profile->budget != BudgetRule::hf_generate) return resolved.max_model_len;
  const auto trained = static_cast<std::int32_t>(resolved.model.max_position);
  return std::max(resolved.max_model_len, trained);
}

AdmissionLimits admission_limits(const Resolved& resolved, TokenCount pool_tokens) {
  const EngineSection& e = resolved.scenario.engine;
  AdmissionLimits limits;
  limits.max_model_len = longest_request(resolved);
  limits.max_request_tokens = pool_tokens;
  limits.reserves_max_tokens = reserves_max_tokens(resolved.scheduler, resolved.allocator) ||
                               (resolved.scheduler == SchedulerKind::trtllm &&
                                e.capacity_scheduler_policy != "MAX_UTILIZATION");
  if (resolved.scheduler == SchedulerKind::trtllm) {
    limits.max_request_tokens -= static_cast<TokenCount>(acceptance_rates(e.speculative).size());
  }
  switch (resolved.profile->budget) {
    case BudgetRule::tgi:
      limits.max_prompt_tokens = static_cast<std::int32_t>(*e.max_input_tokens);
      limits.max_requests = e.max_concurrent_requests;
      break;
    case BudgetRule::hf_generate:  // nobody looks at lengths: what does not fit kills the process
      limits.max_request_tokens = INT64_MAX;
      limits.max_output_tokens = static_cast<std::int32_t>(e.max_new_tokens);
      break;
    case BudgetRule::fastertransformer:
      limits.max_prompt_tokens = static_cast<std::int32_t>(*e.max_input_tokens);
      limits.max_output_tokens = static_cast<std::int32_t>(e.max_new_tokens);
      break;
    case BudgetRule::sglang:    // max_new_tokens is clipped (ENGINES.md 3.4)
    case BudgetRule::llamacpp:  // generation ends where the slot's context does
    case BudgetRule::ollama: limits.cuts_max_tokens = true; break;
    default: break;
  }
  return limits;
}

}  // namespace headroom
