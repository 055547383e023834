#include "sim/resolve/factory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "hardware/cost/affine.hpp"
#include "hardware/cost/drafter.hpp"
#include "hardware/cost/factory.hpp"
#include "hardware/cost/micro_batches.hpp"
#include "hardware/cost/ticks.hpp"
#include "scheduler/batching/data_ranks.hpp"
#include "sim/kernel/check.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/named_value.hpp"
#include "sim/kernel/seconds.hpp"
#include "sim/resolve/kv_tier.hpp"
#include "sim/resolve/lora.hpp"
#include "sim/resolve/parallel.hpp"
#include "sim/resolve/run_time_memory.hpp"
#include "sim/resolve/startup_budget.hpp"
#include "sim/resolve/workload_factory.hpp"
#include "sim/scenario/workload_laws.hpp"
#include "sim/serving/kv_layout.hpp"
#include "sim/serving/rank_pools.hpp"

namespace headroom {
namespace {

Ticks ticks_from_us(double us) {
  return static_cast<Ticks>(us * 1e3 * static_cast<double>(kTicksPerNs) + 0.5);
}

std::unique_ptr<StepCost> make_affine(const AffineSection& section, CostFacts& facts) {
  AffineCoefficients coefficients;
  coefficients.per_step = ticks_from_us(section.step_us);
  coefficients.per_prefill_token = ticks_from_us(section.prompt_token_us);
  coefficients.per_decode_row = ticks_from_us(section.decode_token_us);
  coefficients.per_context_token = ticks_from_us(section.context_token_us);
  facts.calibration = "affine";
  facts.source = "the scenario's own coefficients";
  return std::make_unique<AffineCost>(coefficients);
}

// A whole-prompt engine's largest step takes all rows at their full length; on many data ranks that
// is more than a clock holds, so there the limit of a prefill batch counts, where there is one.
std::int64_t largest_step_tokens(const Resolved& resolved, TokenCount pool_tokens) {
  const StepLimits limits = step_limits(resolved);
  const BatchPolicy& policy = *resolved.scheduler;
  if (policy.traits.has_token_budget) return limits.max_num_batched_tokens;
  if (resolved.sharding.data > 1 && policy.prompt_tokens != nullptr) {
    const SchedulerOptions options = scheduler_options(resolved);
    const std::int64_t prompts = policy.prompt_tokens(options.own);
    const std::int64_t row = std::max(1, options.speculation.verified_tokens);
    if (prompts > 0) return prompts * resolved.sharding.data + limits.max_num_seqs * row;
  }
  return std::min<std::int64_t>(std::int64_t{limits.max_num_seqs} * longest_request(resolved),
                                pool_tokens);
}

// One for each data rank and its pool. Without a number of front ends there are as many as ranks
// (vllm/entrypoints/cli/serve.py, ServeSubcommand.cmd).
std::unique_ptr<BatchScheduler> make_data_ranks(const Resolved& resolved,
                                                const SchedulerOptions& options, RankPools& pools) {
  std::vector<std::unique_ptr<BatchScheduler>> ranks;
  for (std::size_t rank = 0; rank < pools.count(); ++rank) {
    ranks.push_back(resolved.scheduler->make(options, pools.of(rank)));
  }
  const std::int64_t front_ends = std::max<std::int64_t>(
      1, resolved.scenario.engine.api_server_count.value_or(resolved.sharding.data));
  DataRanks::Options together{.front_ends = static_cast<std::size_t>(front_ends),
                              .seats = options.max_num_seqs,
                              .seed = options.seed};
  if (resolved.scheduler->rank_rules != nullptr) {
    together.rules = resolved.scheduler->rank_rules(options.own);
  }
  together.rules.prompts_pause_all = resolved.rounds.pauses_ranks;
  return std::make_unique<DataRanks>(std::move(ranks), pools, together);
}

}  // namespace

std::unique_ptr<BatchScheduler> make_scheduler(const Resolved& resolved, const KvAllocator& kv,
                                               const KvLayout& layout) {
  SchedulerOptions options = scheduler_options(resolved);
  if (swaps(resolved)) options.swap_blocks = tier_options(resolved, layout).host_blocks;
  if (kv.ranks() != nullptr) return make_data_ranks(resolved, options, *kv.ranks());
  return resolved.scheduler->make(options, kv);
}

std::unique_ptr<KvAllocator> make_allocator(const Resolved& resolved, const MemoryBudget& budget) {
  const EngineSection& e = resolved.scenario.engine;
  const BatchPolicy& policy = *resolved.scheduler;
  AllocatorInputs inputs;
  inputs.tokens =
      resolved.allocator->in_one_range ? pool_tokens(resolved, budget) : budget.kv_tokens;
  inputs.sequences = resolved.max_num_seqs;
  inputs.longest = resolved.max_model_len;
  inputs.own = e.own;
  PagedKvOptions& paged = inputs.paged;
  if (resolved.allocator->in_blocks) {
    paged.blocks = run_blocks(resolved, budget);
    paged.block_tokens = budget.layout.block_tokens;
    if (!swaps(resolved)) paged.tier = tier_options(resolved, budget.layout);
    if (follows_groups(resolved, budget.layout)) {
      // With data ranks, too, a step computes one budget of a prompt at most (StepLimits).
      const SpeculationOptions drafts = scheduler_options(resolved).speculation;
      paged.sequence = SequenceBlocks(budget.layout, resolved.max_num_batched_tokens,
                                      drafts.num_speculative_tokens + drafts.lookahead_tokens);
    }
  }
  paged.reserve_final = sets_aside(resolved);
  paged.enable_prefix_caching = finds_prefixes(resolved);
  paged.plain_to_front = e.free_plain_blocks_first.value_or(true);
  paged.forks_samples = resolved.scenario.workload.n > 1 && forks_samples(resolved.scenario);
  if (policy.block_sharing != nullptr) {
    const BlockSharing sharing = policy.block_sharing(e.own);
    paged.partial_reuse = sharing.partial;
    paged.copy_on_partial_reuse = sharing.by_copy;
  }
  inputs.radix_tree = policy.traits.merges_copies && paged.enable_prefix_caching;
  paged.drops_last_match = policy.traits.drafter_drops_match && drafter_has_kv(e.speculative);
  // Of longer blocks a match ends within one, but rarely at the end of it.
  if (resolved.rounds.pairs_tokens && paged.block_tokens == 1) paged.drops_last_match = true;
  if (resolved.sharding.data == 1) return resolved.allocator->make(inputs);
  std::vector<std::unique_ptr<KvAllocator>> ranks;
  for (std::int64_t rank = 0; rank < resolved.sharding.data; ++rank) {
    ranks.push_back(resolved.allocator->make(inputs));
  }
  return std::make_unique<RankPools>(std::move(ranks));
}

RooflineOptions roofline_options(const Resolved& resolved, TokenCount pool_tokens) {
  RooflineOptions roofline;
  roofline.parallel = parallel_options(resolved);
  roofline.kv = resolved.kv;
  if (resolved.engine->capture_sizes != nullptr) {
    roofline.capture_sizes = resolved.engine->capture_sizes(resolved.scenario.engine, resolved);
  }
  // Prompts of 32 tokens or more copy the layers to the device (ggml-cuda.cu,
  // ggml_backend_cuda_device_offload_op), over a link of about the rate of the host's memory.
  roofline.host = resolved.host_reads;
  roofline.host_bytes_per_s = resolved.scenario.environment.host_read_gb_per_s * 1e9;
  roofline.absorbs_prompts = resolved.engine->traits.absorbs_prompts;
  roofline.limits.max_num_seqs = step_limits(resolved).max_num_seqs;
  roofline.limits.max_step_tokens = largest_step_tokens(resolved, pool_tokens);
  roofline.limits.max_model_len = longest_request(resolved);
  roofline.limits.max_context_tokens = pool_tokens;
  return roofline;
}

namespace {

std::unique_ptr<StepCost> cost_of_level(const Resolved& resolved, const Catalog& catalog,
                                        TokenCount pool_tokens, CostFacts& facts) {
  const CostSection& section = resolved.scenario.cost;
  facts.level = section.level;
  if (section.level == "affine") return make_affine(section.affine, facts);

  CostRequest request;
  request.level = value_named<CostLevel>(section.level, {{"spec", CostLevel::spec},
                                                         {"kernels", CostLevel::kernels},
                                                         {"table", CostLevel::table},
                                                         {"calibrated", CostLevel::calibrated}});
  request.tables = SectionPlace{resolved.scenario, "/cost/tables"}.path_of(section.tables);
  request.engine = std::string(resolved.engine->cost_family);
  if (resolved.engine->releases_are_of_constants()) request.version = resolved.version;
  request.mode = resolved.overlaps_host() ? EngineMode::async : EngineMode::sync;
  request.roofline = roofline_options(resolved, pool_tokens);
  const EngineSection& engine = resolved.scenario.engine;
  request.kernels = resolved.engine->kernels;
  request.prefills_in_fp8 = resolved.engine->traits.prefills_in_fp8;
  if (resolved.engine->captured_steps != nullptr) {
    request.captured = resolved.engine->captured_steps(engine, resolved);
  }
  if (resolved.engine->backends != nullptr) {
    request.backends = resolved.engine->backends(engine, resolved);
  }
  request.clock_share = section.clock_share;
  request.bandwidth_share = section.bandwidth_share;
  if (section.level != "spec" && section.calibration != "auto") {
    request.calibration = section.calibration;
    request.mode = catalog.calibration(section.calibration).mode;  // a named row brings its own
  }
  CostChoice choice = make_step_cost(catalog, resolved.model, resolved.device, request);
  if (resolved.engine->micro_batch != nullptr) {
    choice.cost = std::make_unique<MicroBatchCost>(std::move(choice.cost),
                                                   resolved.engine->micro_batch(engine));
  }
  facts.calibration = choice.calibration;
  facts.source = choice.source;
  facts.engine_versions = choice.engine_versions;
  facts.uncalibrated = choice.uncalibrated;
  facts.entry = {static_cast<TimeNs>(choice.entry_ns + 0.5),
                 static_cast<std::int64_t>(choice.entry_token_ns * 1e3 + 0.5)};
  // Of all that lies between client and engine, what is not on the way in.
  const auto token_ps = static_cast<std::int64_t>(choice.prompt_token_ns * 1e3 + 0.5);
  facts.client_latency = {std::max<TimeNs>(0, choice.client_latency_ns - facts.entry.request_ns),
                          std::max<std::int64_t>(0, token_ps - facts.entry.prompt_token_ps)};
  return with_adapters(resolved, std::move(choice));
}

}  // namespace

std::unique_ptr<StepCost> make_cost(const Resolved& resolved, const Catalog& catalog,
                                    TokenCount pool_tokens, CostFacts& facts) {
  try {
    return cost_of_level(resolved, catalog, pool_tokens, facts);
  } catch (const StepCostError& error) {
    throw ConfigError(Complaint{
        .origin = resolved.scenario.file,
        .problem = fmt::format(
            "{}: it takes its rates from device (device.nic_gb_per_s, device.nic_latency_us "
            "between nodes) and cost.clock_share, cost.bandwidth_share, its size from "
            "engine.max_num_batched_tokens, engine.max_num_seqs and engine.max_model_len",
            error.what())});
  }
}

namespace {

std::unique_ptr<StepCost> with_drafter(const Resolved& resolved, std::unique_ptr<StepCost> target) {
  const SpeculativeSection& section = resolved.scenario.engine.speculative;
  if (!section.is_on()) return target;
  DrafterOptions options;
  options.share_ppm = static_cast<std::int64_t>(section.draft_step_share.value_or(0) * 1e6 + 0.5);
  if (section.method == "dflash") {
    options.forwards = 1;  // all drafts of a step in one pass
  } else if (section.method != "ngram") {
    options.forwards = static_cast<std::int32_t>(*section.num_speculative_tokens);
  }
  options.branches = resolved.rounds.branches;
  options.drafts_behind_prompts = resolved.rounds.drafts_behind_prompts;
  options.uses_target_head = section.method != "draft_model";
  options.host_ticks = ticks_from_us(section.draft_host_us);
  return std::make_unique<DrafterCost>(std::move(target), options);
}

// The server's own model takes the place of the calibration's one constant.
ApiServerOptions api_server_options(const EngineSection& engine, TimeNs client_latency_ns) {
  const ApiServerSection& section = engine.api_server;
  ApiServerOptions options;
  options.processes = *engine.api_server_count;
  options.request_ticks = ticks_from_us(section.request_us);
  options.prompt_token_ticks = ticks_from_us(section.prompt_token_us);
  options.output_token_ticks = ticks_from_us(section.output_token_us);
  options.answer_ticks = ticks_from_us(section.finish_us);
  options.network_ns =
      section.network_ms ? ns_from_seconds(*section.network_ms / 1e3)
                         : std::max<TimeNs>(0, client_latency_ns - floor_ns(options.request_ticks));
  return options;
}

}  // namespace

namespace {

// Tokens that all sequences of a step may have together; 0: the pool bounds their number, not their
// length.
TokenCount most_context(const Resolved& resolved, const MemoryBudget& budget) {
  const KvLayout& layout = budget.layout;
  if (!follows_groups(resolved, layout)) return pool_tokens(resolved, budget);
  const bool keeps_every = layout.groups.front().kind == KvGroupKind::full;
  return keeps_every ? budget.usable_blocks * layout.block_tokens : TokenCount{0};
}

}  // namespace

std::unique_ptr<StepCost> make_replica_cost(const Resolved& resolved, const MemoryBudget& budget,
                                            const Catalog& catalog, CostFacts& facts) {
  const TokenCount tokens = most_context(resolved, budget) * resolved.sharding.data;
  return with_drafter(resolved, make_cost(resolved, catalog, tokens, facts));
}

ReplicaParts make_replica(const Resolved& resolved, const MemoryBudget& budget,
                          const Catalog& catalog, CostFacts& facts) {
  return make_replica(resolved, budget, make_replica_cost(resolved, budget, catalog, facts), facts);
}

ReplicaParts make_replica(const Resolved& resolved, const MemoryBudget& budget,
                          std::unique_ptr<StepCost> cost, CostFacts& facts) {
  ReplicaParts parts;
  parts.options = replica_options(resolved);
  // A copy within the device reads and writes each byte once.
  const double moved_bytes = 2.0 * static_cast<double>(budget.layout.bytes_per_token);
  parts.options.move_ticks_per_token =
      ticks_from_us(moved_bytes / resolved.device.bandwidth_bytes_per_s * 1e6);
  parts.options.cold_step_ticks = ticks_from_us(resolved.scenario.cost.cold_step_ms * 1e3);
  parts.kv = make_allocator(resolved, budget);
  parts.tier = tier_links(resolved, budget.layout);
  parts.scheduler = make_scheduler(resolved, *parts.kv, budget.layout);
  const KvPoolState& pool = parts.kv->pool();
  // A request lies on one data rank.
  const TokenCount hole = pool.largest_hole / resolved.sharding.data;
  parts.limits = admission_limits(resolved, parts.kv->sequence().longest(hole));
  parts.cost = std::move(cost);
  parts.memory = run_time_memory(resolved, budget);
  parts.adapters = adapter_slots(resolved);
  if (const EngineSection& engine = resolved.scenario.engine; engine.api_server_count) {
    if (engine.has_api_server()) {
      parts.options.api_server = api_server_options(engine, facts.client_latency.request_ns);
    }
    facts.client_latency = {};
    facts.entry = {};
  }
  parts.options.entry = facts.entry;
  return parts;
}

}  // namespace headroom
