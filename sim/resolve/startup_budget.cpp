#include "sim/resolve/startup_budget.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "hardware/environment.hpp"
#include "hardware/llm/drafter_model.hpp"
#include "hardware/llm/kv_geometry.hpp"
#include "hardware/llm/parameters.hpp"
#include "scheduler/batching/policies.hpp"
#include "sim/kernel/check.hpp"
#include "sim/kernel/named_value.hpp"
#include "sim/kernel/saturating.hpp"
#include "sim/resolve/kv_tier.hpp"
#include "sim/resolve/lora.hpp"
#include "sim/resolve/platform.hpp"
#include "sim/serving/sequence_blocks.hpp"

namespace headroom {
namespace {

// What a second tier is worth where it lies in the memory of the pool.
void warn_of_tier(Resolved& r) {
  const ByteCount tier = host_tier_bytes(r);
  if (tier == 0 || r.device.memory_model != MemoryModel::unified) return;
  r.warnings.push_back(
      fmt::format("{} has one memory for host and device: the {:.2f} GiB of host memory for KV are "
                  "missing in the pool, and every copy costs time",
                  r.device.id, gib_from_bytes(tier)));
}

// What layers and experts in the memory of the host cost.
void note_host_layers(Resolved& r, const HostReads& reads) {
  const std::string rate = "/environment/host_read_gb_per_s";
  r.host_reads = reads;
  const double share = reads.weight_share;
  if (share > 0) {
    r.warnings.push_back(
        fmt::format("{:.0f} % of the weights that a token reads lie in host memory, read at {:g} "
                    "GB/s ({}; environment.host_read_gb_per_s): times rest on that",
                    100 * share, r.scenario.environment.host_read_gb_per_s,
                    r.scenario.is_given(rate) ? "given" : "assumed"));
  } else if (r.scenario.is_given(rate)) {
    // No error: it describes the host, and searches try systems with and without such layers.
    r.warnings.emplace_back(
        "environment.host_read_gb_per_s has no effect: all layers are on the device");
  }
}

bool is_about_the_pool(StartupStage stage) {
  return stage == StartupStage::blocks || stage == StartupStage::max_length_request;
}

// A token-granular pool that a scenario wants to page.
void count_in_blocks(const Resolved& r, MemoryBudget& budget) {
  KvLayout& layout = budget.layout;
  if (!r.allocator->in_blocks || layout.block_tokens == r.block_size) return;
  layout = uniform_layout(layout.groups.front().layers, layout.bytes_per_token, r.block_size);
  budget.total_blocks = budget.kv_pool_bytes / layout.block_bytes;
  budget.usable_blocks = budget.total_blocks;
  budget.kv_tokens = budget.total_blocks * layout.block_tokens;
}

// The pool of an engine with the plain rule in the size the user set. What it takes more or less
// than the rule's own pool comes from the margin; the sum of the terms stays the capacity.
void resize_pool(const Resolved& r, MemoryBudget& budget) {
  const EngineSection& e = r.scenario.engine;
  if (!e.num_gpu_blocks_override && !e.kv_cache_memory_bytes) return;
  if (budget.failure && !is_about_the_pool(budget.failure->stage)) return;
  const ByteCount token_bytes = budget.layout.bytes_per_token;
  const ByteCount block_bytes = budget.layout.block_bytes;
  const ByteCount wanted = e.kv_cache_memory_bytes ? *e.kv_cache_memory_bytes
                                                   : saturating_product(*e.num_gpu_blocks_override,
                                                                        r.block_size * token_bytes);
  constexpr auto kPool = static_cast<std::size_t>(MemoryPurpose::kv_pool);
  constexpr auto kMargin = static_cast<std::size_t>(MemoryPurpose::margin);
  const ByteCount free = budget.terms.bytes[kPool] + budget.terms.bytes[kMargin];
  budget.failure.reset();
  if (wanted > free) {
    budget.failure = StartupFailure{
        StartupStage::kv_allocation,
        fmt::format("a KV pool of {} bytes was requested, but only {} are free", wanted, free),
        wanted, free, 0};
    return;
  }
  budget.total_blocks = wanted / block_bytes;
  budget.usable_blocks = budget.total_blocks;
  budget.kv_pool_bytes = budget.total_blocks * block_bytes;
  budget.kv_available_bytes = wanted;
  budget.kv_tokens = budget.total_blocks * budget.layout.block_tokens;
  budget.terms.bytes[kPool] = budget.kv_pool_bytes;
  budget.terms.bytes[kMargin] = free - budget.kv_pool_bytes;
  std::erase_if(budget.charges, [](const StartupCharge& charge) {
    return charge.purpose == MemoryPurpose::kv_pool;
  });
  budget.charges.push_back(
      {StartupStage::kv_allocation, MemoryPurpose::kv_pool, budget.kv_pool_bytes});
  budget.max_concurrency =
      static_cast<double>(budget.kv_tokens) / static_cast<double>(r.max_model_len);
  if (budget.kv_tokens < r.max_model_len) {
    budget.failure = StartupFailure{
        StartupStage::max_length_request,
        fmt::format("one request of max_model_len {} does not fit in a pool of {} tokens",
                    r.max_model_len, budget.kv_tokens),
        r.max_model_len * token_bytes, budget.kv_pool_bytes, budget.kv_tokens};
  }
}

}  // namespace

HostRequest host_request(const Resolved& r) {
  HostRequest request;
  request.device = r.device;
  request.metric = r.engine->free_metric(r.version, r.device);
  if (const auto& given = r.scenario.environment.free_metric) {
    request.metric = value_named<FreeMetric>(
        *given, {{"MemFree", FreeMetric::mem_free}, {"MemAvailable", FreeMetric::mem_available}});
  }
  request.checkpoint_bytes = checkpoint_bytes(r.model);
  request.device_bytes = rank_weight_bytes(r.model, r.sharding);
  if (r.drafter) {
    // A prediction module lies in the model's own files.
    const bool own_files = r.scenario.engine.speculative.method != "mtp";
    if (own_files) request.checkpoint_bytes += checkpoint_bytes(*r.drafter);
    request.device_bytes += rank_weight_bytes(*r.drafter, drafter_sharding(r.sharding));
  }
  request.tensor_parallel = r.sharding.tensor;
  request.first_start = r.scenario.environment.first_start;
  return request;
}

BudgetedSystem budgeted(Resolved resolved) {
  const HostRequest host = host_request(resolved);
  BudgetInputs inputs;
  inputs.model = resolved.model;
  inputs.device = resolved.device;
  inputs.sharding = resolved.sharding;
  inputs.kv = resolved.kv;
  inputs.drafter = resolved.drafter;
  const Environment environment = environment_with_tier(resolved);
  inputs.machine = machine_memory(environment, host);
  if (const auto& used = resolved.scenario.device.memory_used_gib) {
    inputs.machine.others_bytes = bytes_from_gib(*used);
  }
  if (resolved.device.memory_model == MemoryModel::unified &&
      inputs.machine.engine_host_bytes == 0) {
    // A machine whose host is not followed: all the same the tier lies in the device's memory.
    inputs.machine.engine_host_bytes = host_tier_bytes(resolved) + lora_host_bytes(resolved);
  }
  const Engine& engine = *resolved.engine;
  EngineSection& options = resolved.scenario.engine;
  MemoryBudget budget = engine.budget(inputs, options, resolved);
  if (engine.traits.pool_is_sized_by_hand) {
    count_in_blocks(resolved, budget);
    resize_pool(resolved, budget);
  }
  if (auto failure = host_failure(environment, host, budget)) {
    budget.failure = std::move(failure);
  }
  if (const auto gap = platform_gap(resolved)) {
    if (gap->may_run_so) {
      resolved.warnings.push_back(gap->text);
    } else {
      budget.failure = StartupFailure{StartupStage::platform, gap->text};
    }
  }
  HEADROOM_CHECK(
      budget.terms.sum() == budget.capacity_bytes,
      fmt::format("budget terms sum to {} of {} bytes", budget.terms.sum(), budget.capacity_bytes));
  for (const auto& list : {engine.budget_warnings(inputs, options, resolved),
                           environment_notes(resolved.environment, host), budget.notes}) {
    resolved.warnings.insert(resolved.warnings.end(), list.begin(), list.end());
  }
  warn_of_tier(resolved);
  note_host_layers(resolved, budget.host_reads);
  if (engine.after_budget != nullptr) engine.after_budget(inputs, budget, options, resolved);
  if (!budget.failure && budget.max_model_len > 0 &&
      budget.max_model_len < resolved.max_model_len) {
    // Engines that shorten their longest request to the pool say so in a warning of their rule;
    // longer requests are refused from the start.
    resolved.max_model_len = static_cast<std::int32_t>(budget.max_model_len);
  }
  if (resolved.max_model_len < 0) {
    resolved.max_model_len = static_cast<std::int32_t>(budget.max_model_len);
    options.max_model_len = budget.max_model_len;
    resolved.rules["/engine/max_model_len"] = "-1: the longest that fits";
  }
  return {std::move(resolved), std::move(budget)};
}

TokenCount pool_tokens(const Resolved& resolved, const MemoryBudget& budget) {
  const KvLayout& layout = budget.layout;
  // A contiguous pool has no null block; the bytes are the same.
  if (resolved.allocator->in_one_range) return budget.kv_tokens;
  if (layout.uniform() && !layout.recurrent()) return budget.usable_blocks * layout.block_tokens;
  if (!follows_groups(resolved, layout)) return run_blocks(resolved, budget) * layout.block_tokens;
  // As vLLM logs it since 0.20 (ENGINES.md 1.1): in requests of max_model_len.
  return static_cast<TokenCount>(budget.max_concurrency *
                                 static_cast<double>(budget.max_model_len));
}

namespace {

// What a drafter needs of chunks of attention and of states is not modelled.
bool drafts_fit(const Resolved& resolved, const KvLayout& layout) {
  return !resolved.scenario.engine.speculative.is_on() ||
         std::ranges::all_of(layout.groups, [](const KvGroup& group) {
           return group.kind == KvGroupKind::full || group.kind == KvGroupKind::sliding;
         });
}

}  // namespace

bool follows_groups(const Resolved& resolved, const KvLayout& layout) {
  return resolved.allocator->in_blocks && resolved.scheduler->traits.follows_groups &&
         drafts_fit(resolved, layout) && host_tier_bytes(resolved) == 0 &&
         (!layout.uniform() || layout.groups.front().kind != KvGroupKind::full) &&
         SequenceBlocks::can_follow(layout);
}

namespace {

bool has_windows(const ModelSpec& model) {
  return std::ranges::any_of(model.kinds, [](const LayerKind& kind) {
    return kind.attention && kind.attention->window_tokens > 0;
  });
}

}  // namespace

std::optional<std::string> note_on_groups(const Resolved& resolved, const MemoryBudget& budget,
                                          bool shares_prefixes) {
  const Engine& engine = *resolved.engine;
  const KvLayout& layout = budget.layout;
  const bool windows = has_windows(resolved.model);
  const bool states = has_states(resolved.model);
  const bool engine_keeps_all = engine.traits.keeps_windows_if_uniform && layout.keeps_all();
  if (budget.failure || !(windows || states) || engine_keeps_all) return std::nullopt;
  const bool finds = shares_prefixes && finds_prefixes(resolved);
  if (follows_groups(resolved, layout)) {
    if (!finds || !layout.recurrent()) return std::nullopt;
    return fmt::format(
        "{} has recurrent layers: for a cached prefix the states are assumed to be cached too",
        resolved.model.id);
  }
  if (states || !engine.traits.counts_windows_at_start) {
    return fmt::format(
        "{} has layers of different kinds, but here each one keeps KV for every token, and "
        "recurrent states get a generous reservation: fewer requests fit than in the engine "
        "(scheduler {} models the groups, but not with offload, nor states with drafts)",
        resolved.model.id, fmt::join(policies_that(&BatchTraits::follows_groups), ", "));
  }
  const bool cuts = engine.cuts_windows != nullptr &&
                    engine.cuts_windows(resolved.scenario.engine, resolved, layout);
  if (!finds || !cuts) return std::nullopt;
  return fmt::format(
      "{} has windowed layers: for a cached prefix their content is assumed to be cached too, "
      "while the engine recomputes what it has not kept",
      resolved.model.id);
}

BlockCount run_blocks(const Resolved& resolved, const MemoryBudget& budget) {
  const KvLayout& layout = budget.layout;
  if (follows_groups(resolved, layout)) return budget.usable_blocks;
  if (layout.uniform()) {
    // States that have no ids of their own are set aside for the largest batch. Or, where that is
    // less, each block pays for one as if it were a sequence's only one: both are on the safe side.
    const auto blocks = [&](ByteCount bytes) {
      return (bytes + layout.block_bytes - 1) / layout.block_bytes;
    };
    const ByteCount state = layout.state_bytes_per_sequence;
    return std::max(budget.usable_blocks - blocks(state * resolved.max_num_seqs),
                    budget.usable_blocks / (1 + blocks(state)));
  }
  // Every group of layers takes its own id for the same tokens; states have ids per sequence.
  BlockCount growing = 0;
  BlockCount states = 0;
  for (const KvGroup& group : layout.groups) {
    if (group.kind == KvGroupKind::recurrent) {
      states += group.states;
    } else {
      ++growing;
    }
  }
  if (growing == 0) return 0;
  const BlockCount left = budget.usable_blocks - states * resolved.max_num_seqs;
  // Either the states of the largest batch are set aside, or each block pays for a state as if it
  // were a sequence's only one: both are on the safe side, so the kinder one holds.
  return std::max({BlockCount{0}, left / growing, budget.usable_blocks / (growing + states)});
}

}  // namespace headroom
