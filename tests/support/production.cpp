#include "tests/support/production.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "hardware/cost/parallel.hpp"
#include "scheduler/batching/orca.hpp"
#include "scheduler/batching/policies.hpp"
#include "scheduler/batching/sglang.hpp"
#include "scheduler/batching/static.hpp"
#include "scheduler/batching/tgi.hpp"
#include "scheduler/batching/trtllm.hpp"
#include "scheduler/batching/vllm.hpp"
#include "scheduler/kv/contiguous.hpp"
#include "scheduler/kv/paged.hpp"
#include "scheduler/kv/slots.hpp"
#include "scheduler/routing/round_robin.hpp"
#include "sim/kernel/check.hpp"
#include "tests/support/randomly_cut.hpp"

namespace headroom::test {
namespace {

// Collects what the oracle reports, step by step: no closed form is shared with production.
class CollectingSink final : public MetricsSink {
 public:
  explicit CollectingSink(std::size_t requests) { result.requests.resize(requests); }

  void on_steps(const StepRun& run) override {
    oracle::Totals& t = result.totals;
    for (StepCount i = 0; i < run.steps; ++i) {
      const Int128 ticks = run.first_ticks + static_cast<Int128>(i) * run.slope_ticks;
      t.busy_ticks += ticks;
      if (run.gaps.empty()) add_gaps(run.gaps_per_step, ticks);
    }
    StepCount steps = 0;
    for (const GapRun& part : run.gaps) {
      steps += part.steps;
      for (StepCount i = 0; i < part.steps; ++i) {
        add_gaps(run.gaps_per_step, part.first + i * TickSum{part.slope});
      }
    }
    HEADROOM_CHECK(run.gaps.empty() || steps == run.steps, "gaps of another number of steps");
    t.steps += run.steps;
    t.prefill_tokens += run.shape->chunk_tokens * run.steps;
    for (const GapGroup& group : run.other_gaps) add_gaps(group.tokens, group.gap);
  }
  void on_request(const RequestRecord& r) override {
    result.requests.at(r.index) = {.outcome = r.outcome,
                                   .queued_ns = r.queued_ns,
                                   .first_scheduled_ns = r.first_scheduled_ns,
                                   .first_token_ns = r.first_token_ns,
                                   .finish_ns = r.finish_ns,
                                   .output_tokens = r.output_tokens,
                                   .preemptions = r.preemptions};
  }
  void on_event(const EngineEvent& event) override {
    if (event.kind == EngineEventKind::admitted) result.totals.cached_tokens += event.cached_tokens;
  }
  void on_idle(std::uint16_t, TickSum, const ReplicaState&) override {}

  oracle::Result result;

 private:
  void add_gaps(std::int64_t count, TickSum gap) {
    result.totals.gaps += count;
    result.totals.gap_ticks += count * gap;
    result.totals.gap_ticks_squared += count * gap * gap;
  }
};

// By the oracle's enums.
constexpr std::array<std::string_view, 9> kPolicyNames{
    "vllm", "orca", "static", "vllm_v0", "sarathi", "tgi", "trtllm", "sglang", "llamacpp"};
constexpr std::array<std::string_view, 3> kCapacityNames{"GUARANTEED_NO_EVICT", "MAX_UTILIZATION",
                                                         "STATIC_BATCH"};

std::int32_t narrow(std::int64_t value) { return static_cast<std::int32_t>(value); }

SchedulerOptions scheduler_options(const oracle::Scenario& s) {
  SchedulerOptions options;
  options.max_num_seqs = narrow(s.max_num_seqs);
  options.max_num_batched_tokens = narrow(s.max_num_batched_tokens);
  options.max_model_len = narrow(s.max_model_len);
  options.pipeline_depth = s.depth;
  options.enable_chunked_prefill = s.chunked_prefill;
  options.own.edit<VllmScheduling>().scheduler_reserve_full_isl = s.reserve_full_isl;
  options.watermark = s.watermark;
  options.long_prefill_token_threshold = narrow(s.long_prefill_token_threshold);
  options.own.edit<VllmScheduling>().threshold_cuts_lone_prompts = s.threshold_cuts_lone_prompts;
  options.own.edit<VllmScheduling>().scheduling_policy = s.priorities ? "priority" : "fcfs";
  options.own.edit<StaticScheduling>().batch_wait_ms = static_cast<double>(s.batch_wait_ns) / 1e6;
  options.enable_lora = s.adapters > 0;
  auto& trtllm = options.own.edit<TrtllmScheduling>();
  trtllm.capacity_scheduler_policy = kCapacityNames.at(static_cast<std::size_t>(s.capacity));
  if (s.equal_progress) trtllm.context_chunking_policy = "EQUAL_PROGRESS";
  auto& sglang = options.own.edit<SglangScheduling>();
  sglang.max_prefill_tokens = s.max_prefill_tokens;
  sglang.chunked_prefill_size = s.chunked_prefill_size;
  sglang.enable_mixed_chunk = s.mixed_chunk;
  sglang.schedule_conservativeness = s.conservativeness;
  sglang.rules = s.sglang_rules;
  if (s.longest_output_first) sglang.schedule_policy = "lof";
  auto& tgi = options.own.edit<TgiScheduling>();
  tgi.max_batch_prefill_tokens = s.max_batch_prefill_tokens;
  tgi.waiting_served_ratio = s.waiting_served_ratio;
  tgi.max_waiting_tokens = s.max_waiting_tokens;
  return options;
}

const BatchPolicy& policy_of(const oracle::Scenario& s) {
  return batch_policy(kPolicyNames.at(static_cast<std::size_t>(s.policy)));
}

std::unique_ptr<KvAllocator> make_allocator(const oracle::Scenario& s) {
  switch (s.memory) {
    case oracle::Memory::contiguous: return std::make_unique<ContiguousKv>(s.kv_tokens);
    case oracle::Memory::slots:
      return std::make_unique<SlotKv>(SlotKvOptions{.slots = narrow(s.max_num_seqs),
                                                    .slot_tokens = s.max_model_len,
                                                    .shared_cells = s.shared_cells,
                                                    .cache_prompt = false});
    case oracle::Memory::paged: break;
  }
  const BatchPolicy& policy = policy_of(s);
  const bool sets_aside = policy.traits.sets_aside || policy.traits.whole_batches;
  return std::make_unique<PagedKv>(PagedKvOptions{.blocks = s.kv_blocks,
                                                  .block_tokens = narrow(s.block_size),
                                                  .enable_prefix_caching = s.prefix_caching,
                                                  .reserve_final = sets_aside});
}

// The largest step a policy may plan.
TokenCount max_step_tokens(const oracle::Scenario& s) {
  const BatchTraits& traits = policy_of(s).traits;
  if (!traits.has_token_budget) return INT64_MAX;
  return std::max(s.max_num_batched_tokens, traits.seats_within_budget ? 0 : s.max_num_seqs);
}

}  // namespace

void AffineStepCost::price(const StepShape& shape, StepPrice& price) const {
  price.base = cost_(shape);
  price.slope = cost_.slope(shape);
  price.valid_steps = kManySteps;
  price.base_terms = {};
  price.base_terms[CostTerm::attention_decode] = price.base;
  price.base += cost_.prepare + cost_.head;
  price.base_terms[CostTerm::step_overhead] = cost_.prepare;
  price.base_terms[CostTerm::head] = cost_.head;
  price.slope_terms = {.attention_decode = price.slope};
}

ReplicaParts make_parts(const oracle::Scenario& s, const ProductionOptions& options) {
  ReplicaParts parts;
  parts.options.max_sequences = s.max_num_seqs;
  parts.options.max_step_tokens = max_step_tokens(s);
  parts.options.pipeline_depth = s.depth;
  const auto runs_past = policy_of(s).runs_past_max_tokens;
  parts.options.knows_last_steps = runs_past == nullptr || !runs_past(scheduler_options(s).own);
  parts.options.single_step = options.single_step;
  parts.options.responds_at_end = s.responds_at_end;
  parts.options.api_server = s.api_server;
  parts.options.cancels_running = s.policy != oracle::Policy::static_batch;
  parts.limits.max_model_len = narrow(s.max_model_len);
  parts.limits.reserves_max_tokens = s.reserves();
  parts.limits.max_request_tokens = s.pool_tokens();
  parts.kv = make_allocator(s);
  parts.scheduler = policy_of(s).make(scheduler_options(s), *parts.kv);
  if (options.cut_seed != 0) {
    parts.scheduler = std::make_unique<RandomlyCut>(std::move(parts.scheduler), options.cut_seed);
  }
  if (s.adapters > 0) {
    parts.adapters = AdapterSlots({.adapters = narrow(s.adapters),
                                   .device_slots = narrow(s.max_loras),
                                   .host_slots = narrow(s.max_cpu_loras),
                                   .load_ticks = s.adapter_load,
                                   .read_ticks = s.adapter_read});
  }
  parts.options.pipeline_stages =
      static_cast<std::int32_t>(std::max<std::size_t>(1, s.stages.size()));
  parts.cost = std::make_unique<AffineStepCost>(s.cost);
  if (!s.stages.empty()) {
    PipelineOptions pipeline;
    pipeline.layers = s.stages;
    pipeline.hand_over.step = s.cost.hand_over * static_cast<Ticks>(s.stages.size() - 1);
    parts.cost = std::make_unique<PipelineCost>(std::move(parts.cost), pipeline);
  }
  return parts;
}

oracle::Result run_production(const oracle::Scenario& scenario, const ProductionOptions& options) {
  std::vector<ReplicaParts> parts;
  parts.push_back(make_parts(scenario, options));
  std::vector<Arrival> arrivals = scenario.arrivals;
  std::vector<std::vector<PrefixSegment>> prefixes;
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    prefixes.push_back(oracle::pieces_of(scenario, i));
    arrivals[i].prefix = prefixes.back();
  }
  ListSource source(std::move(arrivals));
  CollectingSink sink(scenario.arrivals.size());
  FleetOptions fleet_options;
  fleet_options.full_check_interval = 1;
  Fleet fleet(fleet_options, std::move(parts), std::make_unique<RoundRobinRouter>(), source, sink);
  RunLimits limits;
  limits.no_progress_events = 100'000;
  const StopReason reason = fleet.run(limits);
  if (options.reason != nullptr) *options.reason = reason;
  sink.result.totals.ghost_rows = fleet.replicas().front()->ghost_rows();
  if (const AdapterCounts* counts = fleet.replicas().front()->adapter_counts()) {
    sink.result.totals.adapter_loads = counts->loads;
    sink.result.totals.adapter_reads = counts->reads;
  }
  return std::move(sink.result);
}

}  // namespace headroom::test
