#include "tests/oracle/conformance_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "scheduler/batching/llamacpp.hpp"
#include "scheduler/batching/orca.hpp"
#include "scheduler/batching/sarathi.hpp"
#include "scheduler/batching/sglang.hpp"
#include "scheduler/batching/static.hpp"
#include "scheduler/batching/tgi.hpp"
#include "scheduler/batching/trtllm.hpp"
#include "scheduler/batching/vllm.hpp"
#include "scheduler/batching/vllm_v0.hpp"
#include "scheduler/kv/contiguous.hpp"
#include "scheduler/kv/paged.hpp"
#include "scheduler/kv/slots.hpp"
#include "sim/kernel/check.hpp"
#include "sim/setup/engine_profile.hpp"

namespace headroom::test {
namespace {

struct Pool {
  std::string name;
  bool finds_prefixes = false;
  bool reserves = false;
  std::function<std::unique_ptr<KvAllocator>(const EngineSize&)> make;
};

struct Policy {
  std::string name;  // of its options
  SchedulerKind kind = SchedulerKind::vllm;
  std::function<void(SchedulerOptions&)> set = [](SchedulerOptions&) {};
  int depths = 2;
  bool reserves_max_tokens = false;  // its own rule, whatever the pool does
  OutputReservation reservation = OutputReservation::max_tokens;
  std::optional<AdapterOptions> adapters = {};
};

// --- pools --------------------------------------------------------------------------------------

Pool paged(std::int32_t block, bool caching, bool plain_to_front, bool reserves) {
  std::string name = "kv_allocator=paged block_size=" + std::to_string(block);
  if (caching || !reserves)
    name += caching ? " enable_prefix_caching=true" : " enable_prefix_caching=false";
  if (!plain_to_front) name += " free_plain_blocks_first=false";
  return {name + " ", caching, reserves, [=](const EngineSize& size) {
            return std::make_unique<PagedKv>(PagedKvOptions{.blocks = size.pool_tokens / block,
                                                            .block_tokens = block,
                                                            .enable_prefix_caching = caching,
                                                            .reserve_final = reserves,
                                                            .plain_to_front = plain_to_front});
          }};
}

// Layers that keep less than every token: windows and chunks that the requests outgrow, a state.
// A step may compute a whole prompt.
Pool hybrid(std::int32_t block, bool caching, std::vector<KvGroup> groups) {
  KvLayout layout;
  layout.block_tokens = block;
  layout.groups = std::move(groups);
  std::string name = "kv_allocator=paged disable_hybrid_kv_cache_manager=false block_size=" +
                     std::to_string(block);
  name += caching ? " enable_prefix_caching=true " : " enable_prefix_caching=false ";
  return {name, caching, false, [=](const EngineSize& size) {
            return std::make_unique<PagedKv>(
                PagedKvOptions{.blocks = 2 * size.pool_tokens / block,
                               .block_tokens = block,
                               .enable_prefix_caching = caching,
                               .sequence = SequenceBlocks(layout, kConformanceModelLen)});
          }};
}

std::vector<Pool> hybrid_pools() {
  using Kind = KvGroupKind;
  return {hybrid(16, true, {{Kind::full, 4, 16, 0}, {Kind::sliding, 4, 16, 24}}),
          hybrid(4, false,
                 {{Kind::full, 2, 4, 0},
                  {Kind::sliding, 2, 2, 10},
                  {Kind::chunked, 2, 4, 32},
                  {Kind::recurrent, 2, 4, 0}}),
          hybrid(2, true,
                 {{Kind::full, 1, 2, 0}, {Kind::sliding, 1, 2, 5}, {Kind::sliding, 1, 2, 41}})};
}

std::vector<Pool> growing_pools() {
  std::vector<Pool> pools;
  for (const std::int32_t block : {1, 16}) {
    pools.push_back(paged(block, false, true, false));
    pools.push_back(paged(block, true, true, false));
    pools.push_back(paged(block, true, false, false));
  }
  return pools;
}

Pool contiguous(const std::string& placement, Placement rule, bool compaction) {
  std::string name = "kv_allocator=contiguous kv_placement=" + placement + " ";
  if (compaction) name += "kv_compaction=true ";
  return {name, false, true, [=](const EngineSize& size) {
            return std::make_unique<ContiguousKv>(ContiguousKvOptions{
                .tokens = size.pool_tokens, .placement = rule, .compaction = compaction});
          }};
}

std::vector<Pool> contiguous_pools() {
  std::vector<Pool> pools{contiguous("buddy", Placement::buddy, false)};
  for (const bool compaction : {false, true}) {
    pools.push_back(contiguous("first_fit", Placement::first_fit, compaction));
    pools.push_back(contiguous("best_fit", Placement::best_fit, compaction));
    pools.push_back(contiguous("next_fit", Placement::next_fit, compaction));
  }
  return pools;
}

std::vector<Pool> reserving_pools() {
  std::vector<Pool> pools = contiguous_pools();
  for (const std::int32_t block : {1, 16}) pools.push_back(paged(block, false, true, true));
  return pools;
}

std::vector<Pool> sharing_reserving_pools() {
  return {paged(1, true, true, true), paged(16, true, true, true)};
}

// What static batches run on: nothing is set aside in a paged pool, so it may run out.
std::vector<Pool> static_pools() {
  std::vector<Pool> pools = contiguous_pools();
  for (const std::int32_t block : {1, 16}) pools.push_back(paged(block, false, true, false));
  return pools;
}

std::vector<Pool> slot_pools() {
  std::vector<Pool> pools;
  for (const bool cache_prompt : {false, true}) {
    const std::string name =
        std::string("kv_allocator=slots cache_prompt=") + (cache_prompt ? "true " : "false ");
    pools.push_back({name, cache_prompt, true, [=](const EngineSize& size) {
                       return std::make_unique<SlotKv>(
                           SlotKvOptions{.slots = size.seats,
                                         .slot_tokens = kConformanceModelLen,
                                         .cache_prompt = cache_prompt});
                     }});
  }
  return pools;
}

// --- policies -----------------------------------------------------------------------------------

using Options = SchedulerOptions;

// Without chunks a step has room for every prompt (setup demands that of vllm).
void take_whole_prompts(Options& o) {
  o.enable_chunked_prefill = false;
  o.max_num_batched_tokens = std::max(o.max_num_batched_tokens, kConformanceModelLen);
}

std::vector<Policy> vllm_policies() {
  using Kind = SchedulerKind;
  const auto priority = [](Options& o) { o.policy = SchedulingPolicy::priority; };
  return {
      {"scheduling_policy=fcfs ", Kind::vllm},
      {"scheduling_policy=priority ", Kind::vllm, priority},
      {"enable_chunked_prefill=false ", Kind::vllm, take_whole_prompts},
      {"scheduler_reserve_full_isl=false ", Kind::vllm,
       [](Options& o) { o.reserve_full_isl = false; }},
      {"watermark=0.1 ", Kind::vllm, [](Options& o) { o.watermark = 0.1; }},
      {"long_prefill_token_threshold=8 ", Kind::vllm,
       [](Options& o) { o.long_prefill_token_threshold = 8; }},
      {"long_prefill_token_threshold=8 scheduling_policy=priority ", Kind::vllm,
       [=](Options& o) {
         priority(o);
         o.long_prefill_token_threshold = 8;
       }},
  };
}

std::vector<Policy> lora_policies() {
  std::vector<Policy> policies;
  for (const std::int32_t slots : {1, 3}) {
    Policy policy{fmt::format("enable_lora=true max_loras={} ", slots), SchedulerKind::vllm,
                  [](Options& o) { o.enable_lora = true; }};
    policy.adapters = AdapterOptions{.adapters = 7,
                                     .device_slots = slots,
                                     .host_slots = slots + 2,
                                     .load_ticks = 20 * kUs * kTicksPerNs,
                                     .read_ticks = 50 * kUs * kTicksPerNs};
    policies.push_back(std::move(policy));
  }
  return policies;
}

std::vector<Policy> growing_policies() {
  using Kind = SchedulerKind;
  return {
      {"enable_chunked_prefill=false watermark=0.02 ", Kind::vllm_v0,
       [](Options& o) {
         o.enable_chunked_prefill = false;
         o.watermark = 0.02;
       },
       1},
      {"enable_chunked_prefill=true ", Kind::vllm_v0, [](Options&) {}, 1},
      {"watermark=0.02 ", Kind::sarathi, [](Options& o) { o.watermark = 0.02; }},
  };
}

std::vector<Policy> trtllm_policies() {
  std::vector<Policy> policies;
  const std::pair<std::string, CapacityPolicy> capacities[] = {
      {"GUARANTEED_NO_EVICT", CapacityPolicy::guaranteed_no_evict},
      {"MAX_UTILIZATION", CapacityPolicy::max_utilization},
      {"STATIC_BATCH", CapacityPolicy::static_batch}};
  for (const auto& entry : capacities) {
    const std::string& name = entry.first;
    const CapacityPolicy capacity = entry.second;
    const bool reserves = capacity != CapacityPolicy::max_utilization;
    const auto add = [&](const std::string& more, bool cuts, ChunkingPolicy chunking) {
      policies.push_back({fmt::format("capacity_scheduler_policy={} {}", name, more),
                          SchedulerKind::trtllm,
                          [=](Options& o) {
                            o.enable_chunked_prefill = cuts;
                            o.trtllm = {.capacity_policy = capacity, .chunking_policy = chunking};
                          },
                          2, reserves});
    };
    add("enable_chunked_prefill=false ", false, ChunkingPolicy::first_come_first_served);
    add("context_chunking_policy=FIRST_COME_FIRST_SERVED ", true,
        ChunkingPolicy::first_come_first_served);
    add("context_chunking_policy=EQUAL_PROGRESS ", true, ChunkingPolicy::equal_progress);
  }
  return policies;
}

std::vector<Policy> sglang_policies() {
  std::vector<Policy> policies;
  const std::pair<std::string, SglangOrder> orders[] = {{"fcfs", SglangOrder::fcfs},
                                                        {"lpm", SglangOrder::lpm},
                                                        {"dfs-weight", SglangOrder::dfs_weight},
                                                        {"lof", SglangOrder::lof},
                                                        {"random", SglangOrder::random}};
  for (const auto& entry : orders) {
    const SglangOrder order = entry.second;
    policies.push_back({"schedule_policy=" + entry.first + " ", SchedulerKind::sglang,
                        [=](Options& o) { o.sglang.order = order; }});
  }
  policies.push_back({"enable_mixed_chunk=true ", SchedulerKind::sglang,
                      [](Options& o) { o.sglang.enable_mixed_chunk = true; }});
  policies.push_back({"chunked_prefill_size=0 ", SchedulerKind::sglang, [](Options& o) {
                        o.sglang.chunked_prefill_size = 0;
                        o.sglang.schedule_conservativeness = 0.3;  // more retractions
                      }});
  return policies;
}

std::vector<Policy> tgi_policies() {
  const auto chunked = [](Options& o) { o.enable_chunked_prefill = true; };
  const auto apart = [](Options& o) { o.enable_chunked_prefill = false; };
  return {{"enable_chunked_prefill=true ", SchedulerKind::tgi, chunked, 2, true},
          {"enable_chunked_prefill=false ", SchedulerKind::tgi, apart, 2, true}};
}

std::vector<Policy> orca_reservations() {
  std::vector<Policy> policies;
  const std::pair<std::string, OutputReservation> rules[] = {
      {"max_model_len", OutputReservation::max_model_len},
      {"pow2", OutputReservation::pow2},
      {"oracle", OutputReservation::oracle}};
  for (const auto& [name, rule] : rules) {
    policies.push_back(
        {"kv_reservation=" + name + " ", SchedulerKind::orca, [](Options&) {}, 2, true, rule});
  }
  return policies;
}

std::vector<Policy> static_policies() {
  return {
      {"batch_wait_ms=0.3 ", SchedulerKind::static_batch,
       [](Options& o) { o.batch_wait_ns = 300 * kUs; }, 1},
      {"unsized ", SchedulerKind::static_batch, [](Options& o) { o.sizes_batches = false; }, 1}};
}

// --- rows ---------------------------------------------------------------------------------------

Options options_of(const Policy& policy, const EngineSize& size) {
  Options options;
  options.max_num_seqs = size.seats;
  options.max_num_batched_tokens = size.step_tokens;
  options.max_model_len = kConformanceModelLen;
  options.sglang.max_prefill_tokens = 2 * size.step_tokens;
  options.sglang.chunked_prefill_size = size.step_tokens;
  options.tgi.max_batch_prefill_tokens = size.step_tokens;
  options.tgi.waiting_served_ratio = 0.8;
  options.tgi.max_waiting_tokens = 6;
  policy.set(options);
  return options;
}

std::unique_ptr<BatchScheduler> scheduler_of(const Policy& policy, const Pool& pool,
                                             const Options& options, const KvAllocator& kv) {
  switch (policy.kind) {
    case SchedulerKind::vllm: return std::make_unique<VllmScheduler>(options);
    case SchedulerKind::vllm_v0: return std::make_unique<VllmV0Scheduler>(options);
    case SchedulerKind::sarathi: return std::make_unique<SarathiScheduler>(options);
    case SchedulerKind::trtllm:
      return std::make_unique<TrtllmScheduler>(options, pool.finds_prefixes);
    case SchedulerKind::sglang: return std::make_unique<SglangScheduler>(options);
    case SchedulerKind::tgi: return std::make_unique<TgiScheduler>(options);
    case SchedulerKind::llamacpp:
      return std::make_unique<LlamaCppScheduler>(options, dynamic_cast<const SlotKv&>(kv));
    case SchedulerKind::orca: return std::make_unique<OrcaScheduler>(options);
    case SchedulerKind::static_batch: return std::make_unique<StaticScheduler>(options);
  }
  return nullptr;
}

PolicySetup make(const Policy& policy, const Pool& pool, const EngineSize& size) {
  PolicySetup setup;
  const Options options = options_of(policy, size);
  setup.kv = pool.make(size);
  setup.scheduler = scheduler_of(policy, pool, options, *setup.kv);
  setup.options.max_sequences = size.seats;
  if (has_token_budget(policy.kind)) {
    setup.options.max_step_tokens = options.max_num_batched_tokens;
  }
  setup.options.reservation = policy.reservation;
  if (policy.adapters) setup.adapters = AdapterSlots(*policy.adapters);
  setup.options.move_ticks_per_token = 100 * kTicksPerNs;
  const bool is_static = policy.kind == SchedulerKind::static_batch;
  setup.options.cancels_running = !is_static;
  setup.options.responds_at_end = is_static && options.sizes_batches;
  if (is_static) setup.options.restart_ns = 200 * kUs;
  const KvPoolState& state = setup.kv->pool();
  setup.limits.max_model_len = kConformanceModelLen;
  setup.limits.max_request_tokens = setup.kv->sequence().longest(state.largest_hole);
  if (policy.kind == SchedulerKind::llamacpp) {
    setup.limits.max_request_tokens = kConformanceModelLen;
  }
  setup.limits.reserves_max_tokens = policy.reserves_max_tokens || pool.reserves;
  setup.cost.decode_context = 7;  // ticks
  setup.cost.adapter = 1'500 * kTicksPerNs;
  setup.cost.adapter_token = 300 * kTicksPerNs;
  return setup;
}

void add_rows(std::vector<ConformanceRow>& rows, const std::vector<Policy>& policies,
              const std::vector<Pool>& pools) {
  for (const Policy& policy : policies) {
    const Options options = options_of(policy, {});
    const bool is_static = policy.kind == SchedulerKind::static_batch;
    for (const Pool& pool : pools) {
      ConformanceRow row;
      row.name = "scheduler=" + std::string(name_of(policy.kind)) + " " + policy.name + pool.name;
      row.depths = policy.depths;
      row.pads = is_static;
      row.adapters = policy.adapters ? policy.adapters->adapters : 0;
      row.may_die = is_static && (!pool.reserves || !options.sizes_batches);
      row.idle_while_some_wait_ns = is_static ? options.batch_wait_ns : 0;
      row.make = [=](const EngineSize& size) { return make(policy, pool, size); };
      row.restart_ns = row.make({}).options.restart_ns;
      rows.push_back(std::move(row));
    }
  }
}

std::vector<ConformanceRow> all_rows() {
  std::vector<ConformanceRow> rows;
  add_rows(rows, vllm_policies(), growing_pools());
  add_rows(rows, vllm_policies(), hybrid_pools());
  add_rows(rows, lora_policies(), {paged(16, false, true, false), paged(16, true, true, false)});
  add_rows(rows, growing_policies(), growing_pools());
  add_rows(rows, trtllm_policies(), growing_pools());
  add_rows(rows, sglang_policies(), growing_pools());
  add_rows(rows, tgi_policies(), reserving_pools());
  add_rows(rows, tgi_policies(), sharing_reserving_pools());
  add_rows(rows, {{"kv_reservation=max_tokens ", SchedulerKind::orca, [](Options&) {}, 2, true}},
           reserving_pools());
  add_rows(rows, orca_reservations(), {contiguous("first_fit", Placement::first_fit, false)});
  add_rows(rows, static_policies(), static_pools());
  add_rows(rows, {{"", SchedulerKind::llamacpp}}, slot_pools());
  return rows;
}

}  // namespace

const std::vector<ConformanceRow>& conformance_rows() {
  static const std::vector<ConformanceRow> rows = all_rows();
  return rows;
}

const ConformanceRow& conformance_row(const std::string& name) {
  const auto found = std::ranges::find(conformance_rows(), name, &ConformanceRow::name);
  HEADROOM_CHECK(found != conformance_rows().end(), "no such row: " + name);
  return *found;
}

}  // namespace headroom::test
