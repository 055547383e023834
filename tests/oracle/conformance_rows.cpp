#include "tests/oracle/conformance_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "scheduler/batching/data_ranks.hpp"
#include "scheduler/batching/llamacpp.hpp"
#include "scheduler/batching/orca.hpp"
#include "scheduler/batching/policies.hpp"
#include "scheduler/batching/sarathi.hpp"
#include "scheduler/batching/sglang.hpp"
#include "scheduler/batching/static.hpp"
#include "scheduler/batching/tgi.hpp"
#include "scheduler/batching/trtllm.hpp"
#include "scheduler/batching/vllm.hpp"
#include "scheduler/batching/vllm_v0.hpp"
#include "scheduler/kv/contiguous.hpp"
#include "scheduler/kv/paged.hpp"
#include "scheduler/kv/radix.hpp"
#include "scheduler/kv/slots.hpp"
#include "sim/kernel/check.hpp"
#include "sim/serving/rank_pools.hpp"

namespace headroom::test {
namespace {

struct Pool {
  std::string name;
  bool finds_prefixes = false;
  bool reserves = false;
  std::function<std::unique_ptr<KvAllocator>(const EngineSize&)> make;
  std::int32_t ranks = 1;  // that have one each
};

struct Policy {
  std::string name;  // of its options
  std::string_view policy = "vllm";
  std::function<void(SchedulerOptions&)> set = [](SchedulerOptions&) {};
  int depths = 2;
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
          hybrid(4, true, {{Kind::sliding, 4, 4, 18}}),
          hybrid(16, false, {{Kind::sliding, 4, 16, 40}}),
          hybrid(4, false,
                 {{Kind::full, 2, 4, 0},
                  {Kind::sliding, 2, 2, 10},
                  {Kind::chunked, 2, 4, 32},
                  {Kind::recurrent, 2, 4, 0}}),
          hybrid(2, true,
                 {{Kind::full, 1, 2, 0}, {Kind::sliding, 1, 2, 5}, {Kind::sliding, 1, 2, 41}})};
}

// The same pool on each of several data ranks.
std::vector<Pool> on_ranks(std::int32_t ranks, const std::vector<Pool>& pools) {
  std::vector<Pool> all;
  for (const Pool& pool : pools) {
    const auto make = [=](const EngineSize& size) -> std::unique_ptr<KvAllocator> {
      std::vector<std::unique_ptr<KvAllocator>> parts;
      for (std::int32_t rank = 0; rank < ranks; ++rank) parts.push_back(pool.make(size));
      return std::make_unique<RankPools>(std::move(parts));
    };
    all.push_back({fmt::format("{}data_parallel_size={} ", pool.name, ranks), pool.finds_prefixes,
                   pool.reserves, make, ranks});
  }
  return all;
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

Pool radix(std::int32_t block, bool evicts_all) {
  return {
      fmt::format("kv_allocator=paged block_size={} enable_prefix_caching=true ", block), true,
      false, [=](const EngineSize& size) {
        return std::make_unique<RadixKv>(RadixKvOptions{
            .blocks = size.pool_tokens / block, .block_tokens = block, .evicts_all = evicts_all});
      }};
}

std::vector<Pool> radix_pools() {
  return {paged(1, false, true, false), paged(16, false, true, false), radix(1, true),
          radix(16, false)};
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
  const auto priority = [](Options& o) {
    o.own.edit<VllmScheduling>().scheduling_policy = "priority";
  };
  return {
      {"scheduling_policy=fcfs ", "vllm"},
      {"scheduling_policy=priority ", "vllm", priority},
      {"enable_chunked_prefill=false ", "vllm", take_whole_prompts},
      {"scheduler_reserve_full_isl=false ", "vllm",
       [](Options& o) { o.own.edit<VllmScheduling>().scheduler_reserve_full_isl = false; }},
      {"watermark=0.1 ", "vllm", [](Options& o) { o.watermark = 0.1; }},
      {"long_prefill_token_threshold=8 ", "vllm",
       [](Options& o) { o.long_prefill_token_threshold = 8; }},
      {"long_prefill_token_threshold=8 scheduling_policy=priority ", "vllm",
       [=](Options& o) {
         priority(o);
         o.long_prefill_token_threshold = 8;
       }},
  };
}

std::vector<Policy> lora_policies() {
  std::vector<Policy> policies;
  for (const std::int32_t slots : {1, 3}) {
    Policy policy{fmt::format("enable_lora=true max_loras={} ", slots), "vllm",
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
  return {
      {"enable_chunked_prefill=false watermark=0.02 ", "vllm_v0",
       [](Options& o) {
         o.enable_chunked_prefill = false;
         o.watermark = 0.02;
       },
       1},
      {"enable_chunked_prefill=true ", "vllm_v0", [](Options&) {}, 1},
      {"watermark=0.02 ", "sarathi", [](Options& o) { o.watermark = 0.02; }},
  };
}

std::vector<Policy> trtllm_policies() {
  std::vector<Policy> policies;
  for (const std::string capacity : {"GUARANTEED_NO_EVICT", "MAX_UTILIZATION", "STATIC_BATCH"}) {
    const auto add = [&](const std::string& more, bool cuts, const std::string& chunking) {
      policies.push_back({fmt::format("capacity_scheduler_policy={} {}", capacity, more), "trtllm",
                          [=](Options& o) {
                            o.enable_chunked_prefill = cuts;
                            auto& own = o.own.edit<TrtllmScheduling>();
                            own.capacity_scheduler_policy = capacity;
                            own.context_chunking_policy = chunking;
                          }});
    };
    add("enable_chunked_prefill=false ", false, "FIRST_COME_FIRST_SERVED");
    add("context_chunking_policy=FIRST_COME_FIRST_SERVED ", true, "FIRST_COME_FIRST_SERVED");
    add("context_chunking_policy=EQUAL_PROGRESS ", true, "EQUAL_PROGRESS");
  }
  return policies;
}

// Attention DP: ranks that compute prompts together.
std::vector<Policy> balanced_policies() {
  std::vector<Policy> policies = trtllm_policies();
  std::erase_if(policies, [](const Policy& policy) {
    return policy.name.find("STATIC_BATCH") != std::string::npos;
  });
  const std::size_t count = policies.size();
  for (std::size_t i = 0; i < count; ++i) {
    Policy balanced = policies[i];
    balanced.name += "attention_dp_enable_balance=true ";
    balanced.set = [set = balanced.set](Options& o) {
      set(o);
      auto& own = o.own.edit<TrtllmScheduling>();
      own.attention_dp_enable_balance = true;
      own.attention_dp_time_out_iters = 7;
      own.attention_dp_batching_wait_iters = 2;
    };
    policies.push_back(std::move(balanced));
  }
  return policies;
}

std::vector<Policy> sglang_policies() {
  std::vector<Policy> policies;
  for (const std::string order : {"fcfs", "lpm", "dfs-weight", "lof", "random"}) {
    policies.push_back({"schedule_policy=" + order + " ", "sglang", [=](Options& o) {
                          o.own.edit<SglangScheduling>().schedule_policy = order;
                        }});
  }
  policies.push_back({"enable_mixed_chunk=true ", "sglang", [](Options& o) {
                        o.own.edit<SglangScheduling>().enable_mixed_chunk = true;
                      }});
  policies.push_back({"chunked_prefill_size=0 ", "sglang", [](Options& o) {
                        auto& own = o.own.edit<SglangScheduling>();
                        own.chunked_prefill_size = 0;
                        own.schedule_conservativeness = 0.3;  // more retractions
                      }});
  return policies;
}

std::vector<Policy> tgi_policies() {
  const auto chunked = [](Options& o) { o.enable_chunked_prefill = true; };
  const auto apart = [](Options& o) { o.enable_chunked_prefill = false; };
  return {{"enable_chunked_prefill=true ", "tgi", chunked},
          {"enable_chunked_prefill=false ", "tgi", apart}};
}

std::vector<Policy> orca_reservations() {
  std::vector<Policy> policies;
  for (const std::string rule : {"max_model_len", "pow2", "oracle"}) {
    policies.push_back({"kv_reservation=" + rule + " ", "orca",
                        [=](Options& o) { o.own.edit<OrcaScheduling>().kv_reservation = rule; }});
  }
  return policies;
}

std::vector<Policy> static_policies() {
  return {{"batch_wait_ms=0.3 ", "static",
           [](Options& o) { o.own.edit<StaticScheduling>().batch_wait_ms = 0.3; }, 1},
          {"unsized ", "static", [](Options& o) { o.sizes_batches = false; }, 1}};
}

// --- rows ---------------------------------------------------------------------------------------

Options options_of(const Policy& policy, const EngineSize& size) {
  Options options;
  options.max_num_seqs = size.seats;
  options.max_num_batched_tokens = size.step_tokens;
  options.max_model_len = kConformanceModelLen;
  auto& sglang = options.own.edit<SglangScheduling>();
  sglang.max_prefill_tokens = 2 * size.step_tokens;
  sglang.chunked_prefill_size = size.step_tokens;
  auto& tgi = options.own.edit<TgiScheduling>();
  tgi.max_batch_prefill_tokens = size.step_tokens;
  tgi.waiting_served_ratio = 0.8;
  tgi.max_waiting_tokens = 6;
  policy.set(options);
  return options;
}

// With data ranks one for each, and three front ends.
std::unique_ptr<BatchScheduler> scheduler_of(const BatchPolicy& kind, const Options& options,
                                             KvAllocator& kv) {
  RankPools* const pools = kv.ranks();
  if (pools == nullptr) return kind.make(options, kv);
  std::vector<std::unique_ptr<BatchScheduler>> ranks;
  for (std::size_t i = 0; i < pools->count(); ++i) {
    ranks.push_back(kind.make(options, pools->of(i)));
  }
  DataRanks::Options together{.front_ends = 3, .seats = options.max_num_seqs, .seed = 1};
  if (kind.rank_rules != nullptr) together.rules = kind.rank_rules(options.own);
  return std::make_unique<DataRanks>(std::move(ranks), *pools, together);
}

PolicySetup make(const Policy& policy, const Pool& pool, const EngineSize& size) {
  PolicySetup setup;
  Options options = options_of(policy, size);
  options.finds_prefixes = pool.finds_prefixes;
  setup.kv = pool.make(size);
  const BatchPolicy& kind = batch_policy(policy.policy);
  setup.scheduler = scheduler_of(kind, options, *setup.kv);
  setup.options.max_sequences = std::int64_t{size.seats} * pool.ranks;
  if (kind.traits.has_token_budget) {
    setup.options.max_step_tokens = TokenCount{options.max_num_batched_tokens} * pool.ranks;
  }
  if (kind.reservation != nullptr) setup.options.reservation = kind.reservation(options.own);
  if (policy.adapters) setup.adapters = AdapterSlots(*policy.adapters);
  setup.options.move_ticks_per_token = 100 * kTicksPerNs;
  const bool is_static = kind.traits.whole_batches;
  setup.options.cancels_running = !is_static;
  setup.options.responds_at_end = is_static && options.sizes_batches;
  if (is_static) setup.options.restart_ns = 200 * kUs;
  const KvPoolState& state = setup.kv->pool();
  setup.limits.max_model_len = kConformanceModelLen;
  setup.limits.max_request_tokens = setup.kv->sequence().longest(state.largest_hole / pool.ranks);
  if (policy.policy == "llamacpp") {
    setup.limits.max_request_tokens = kConformanceModelLen;
  }
  setup.limits.reserves_max_tokens =
      pool.reserves || kind.traits.sets_aside ||
      (kind.promises_completion != nullptr && kind.promises_completion(options.own));
  setup.cost.decode_context = 7;  // ticks
  setup.cost.adapter = 1'500 * kTicksPerNs;
  setup.cost.adapter_token = 300 * kTicksPerNs;
  return setup;
}

void add_rows(std::vector<ConformanceRow>& rows, const std::vector<Policy>& policies,
              const std::vector<Pool>& pools) {
  for (const Policy& policy : policies) {
    const Options options = options_of(policy, {});
    const bool is_static = batch_policy(policy.policy).traits.whole_batches;
    for (const Pool& pool : pools) {
      ConformanceRow row;
      row.name = "scheduler=" + std::string(policy.policy) + " " + policy.name + pool.name;
      row.depths = policy.depths;
      row.pads = is_static;
      row.ranks = pool.ranks;
      row.adapters = policy.adapters ? policy.adapters->adapters : 0;
      row.may_die = is_static && (!pool.reserves || !options.sizes_batches);
      const double wait_ms = options.own.get<StaticScheduling>().batch_wait_ms;
      row.idle_while_some_wait_ns = is_static ? static_cast<TimeNs>(wait_ms * 1e6) : 0;
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
  add_rows(rows, vllm_policies(), on_ranks(2, growing_pools()));
  add_rows(rows, vllm_policies(), on_ranks(3, {hybrid_pools().front()}));
  add_rows(rows, lora_policies(), {paged(16, false, true, false), paged(16, true, true, false)});
  add_rows(rows, growing_policies(), growing_pools());
  add_rows(rows, trtllm_policies(), growing_pools());
  add_rows(rows, balanced_policies(), on_ranks(3, {growing_pools().back()}));
  add_rows(rows, sglang_policies(), radix_pools());
  add_rows(rows, sglang_policies(), on_ranks(3, {radix_pools().front(), radix_pools().back()}));
  add_rows(rows, tgi_policies(), reserving_pools());
  add_rows(rows, tgi_policies(), sharing_reserving_pools());
  add_rows(rows, {{"kv_reservation=max_tokens ", "orca"}}, reserving_pools());
  add_rows(rows, orca_reservations(), {contiguous("first_fit", Placement::first_fit, false)});
  add_rows(rows, static_policies(), static_pools());
  add_rows(rows, {{"", "llamacpp"}}, slot_pools());
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
