#include "sim/engines/vllm/budget.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "hardware/budget/activations.hpp"
#include "hardware/llm/drafter_model.hpp"
#include "hardware/llm/kv_geometry.hpp"
#include "hardware/llm/parameters.hpp"
#include "sim/engines/vllm/compressed_layout.hpp"
#include "sim/engines/vllm/model_runner.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/saturating.hpp"

namespace headroom {
namespace {

// Constants by release, fitted on the start-up logs in groundtruth/memory_facts: llm-d-planner's
// campaign for 0.17-0.19 on H100, single rows for 0.10-0.16 and for V0 (before 0.8).
struct ReleaseConstants {
  EngineVersion since;
  double context_gib;      // growth outside torch on one device
  double context_tp2_gib;  // with two ranks, NCCL included
  double context_tp4_gib;  // with four or more; 0.8 to 0.16 no log: between two and eight by ranks
  double context_tp8_gib;  // with eight or more: 0.10 logged 1.9 to 2.3 on two models
};
constexpr ReleaseConstants kReleases[] = {
    {{0, 0}, 0.13, 0.55, 0.55, 0.55},
    {{0, 8}, 0.13, 0.55, 1.1, 2.2},
    {{0, 17}, 0.25, 2.08, 2.17, 2.17},
};

constexpr EngineVersion kFreeDifference{0, 20};
// DeepSeek V4 came with it.
constexpr EngineVersion kGroupsCompressed{0, 20};
// V0 looked at no free memory before it loaded (0.7: vllm/worker/worker.py).
constexpr EngineVersion kChecksFreeMemory{0, 8};
// Releases with V1 that still ship V0 size its pool as before (0.9.1: vllm/worker/worker.py,
// determine_num_available_blocks; worker/model_runner.py, profile_run).
constexpr EngineVersion kLastOfV0Alone{0, 7};

// Buffers of symmetric memory exist on these devices alone (device_communicators/symm_mem.py,
// SYMM_MEM_ALL_REDUCE_MAX_SIZES), as does FlashInfer's all-reduce. Elsewhere NCCL's own are left,
// which are there before the first look at memory (v1/worker/gpu_worker.py: init_device).
bool has_symmetric_memory(const DeviceSpec& device) {
  return device.nvlink_bytes_per_s && (device.sm == 90 || device.sm == 100 || device.sm == 103);
}

// Growth outside torch of one rank without such buffers, on a discrete device with V1: 0.02 GiB in
// a log of 0.10.2 on an RTX 3090, and no more room for it in those of 0.12 on an RTX PRO 6000 and
// 0.18 on RTX 3090. From 0.19 on the profiling pass also captures graphs (v1/worker/gpu_worker.py),
// and logs of 0.19 on RTX 3090 and 4090 have at least as much beside torch as H100 do.
constexpr ByteCount kGrowthWithoutBuffers = 20 * kMib;
constexpr EngineVersion kProfilesGraphs{0, 19};

// On an AMD device: two logs of V0 on an MI300X, "non_torch_memory takes 0.66GiB".
constexpr ByteCount kGrowthOnRocm = 676 * kMib;

const ReleaseConstants& constants_of(EngineVersion version) {
  const ReleaseConstants* found = &kReleases[0];
  for (const ReleaseConstants& release : kReleases) {
    if (release.since <= version) found = &release;
  }
  return *found;
}

ByteCount single_growth_bytes(const DeviceSpec& device, EngineVersion version) {
  const bool discrete = device.memory_model == MemoryModel::discrete;
  if (device.vendor == "amd" && discrete) return kGrowthOnRocm;
  const bool measured = device.vendor == "nvidia" && discrete;
  const bool of_release = version >= kChecksFreeMemory && version < kProfilesGraphs;
  return measured && of_release ? kGrowthWithoutBuffers
                                : vllm_context_growth_bytes(version, Sharding{});
}

ByteCount requested_bytes(const BudgetInputs& in, const VllmBudgetOptions& options) {
  return share_of(in.machine.total_bytes, options.gpu_memory_utilization);
}

void check_options(const VllmBudgetOptions& o) {
  if (!(o.gpu_memory_utilization > 0 && o.gpu_memory_utilization <= 1)) {
    throw ConfigError(
        fmt::format("gpu_memory_utilization {}: above 0 and up to 1", o.gpu_memory_utilization));
  }
  if (o.max_model_len < -1 || o.max_model_len == 0) {
    throw ConfigError(fmt::format("max_model_len {}: at least 1, or -1 for the largest that fits",
                                  o.max_model_len));
  }
  if (o.max_num_seqs < 1 || o.max_num_batched_tokens < 1 || o.block_size < 1) {
    throw ConfigError("max_num_seqs, max_num_batched_tokens and block_size: at least 1");
  }
  if (o.num_gpu_blocks_override && *o.num_gpu_blocks_override < 2) {
    throw ConfigError("num_gpu_blocks_override: at least 2, because one is the null block");
  }
  if (o.kv_cache_memory_bytes && *o.kv_cache_memory_bytes < 1) {
    throw ConfigError("kv_cache_memory_bytes: at least 1");
  }
}

struct Terms {
  ByteCount others = 0;  // before the first snapshot, page cache apart
  ByteCount weights = 0;
  ByteCount drafter = 0;
  ByteCount adapters = 0;
  ByteCount activations = 0;
  ByteCount growth = 0;  // outside torch, on the device
  ByteCount graphs = 0;
  ByteCount machine = 0;  // host memory and page cache that the engine takes for its own growth
};

Terms terms_of(const BudgetInputs& in, const VllmBudgetOptions& options, std::int64_t stage) {
  Terms t;
  const bool unified = in.device.memory_model == MemoryModel::unified;
  // A discrete device also holds the process's own context before the first look.
  t.others = in.machine.others_bytes + (unified ? 0 : vllm_other_bytes(in.sharding));
  t.weights = vllm_loaded_weight_bytes(in.model, in.sharding, stage) +
              vllm_expert_padding_bytes(in.model, in.device, in.sharding, stage, options) +
              vllm_model_buffer_bytes(in.model, in.sharding, stage, options);
  if (in.drafter && holds_drafter(in.sharding, stage)) {
    // Loaded with the model, inside what is measured; V0 did not see it (pull request 14067).
    t.drafter = vllm_loaded_weight_bytes(*in.drafter, drafter_sharding(in.sharding), 0);
  }
  t.adapters = vllm_adapter_bytes(in.model, in.sharding, stage, options);
  t.activations =
      vllm_activation_bytes(in.model, in.sharding, options, vllm_second_runner(in, options),
                            vllm_drafted_states(in, options));
  t.growth = vllm_context_growth_bytes(options.version, in.sharding);
  const bool symmetric = has_symmetric_memory(in.device);
  if (!symmetric) t.growth = single_growth_bytes(in.device, options.version);
  if (in.sharding.tensor > 1 && !symmetric) {
    t.others = in.machine.others_bytes + (unified ? 0 : vllm_other_bytes(Sharding{})) +
               communication_bytes(in.sharding);
  }
  t.graphs = vllm_graph_bytes(in.model, in.sharding, options);
  t.machine = in.machine.cache_growth_bytes + in.machine.engine_host_bytes;
  return t;
}

// Bytes for KV by the rule, or by the user's own word.
ByteCount kv_bytes(const BudgetInputs& in, const VllmBudgetOptions& options, const Terms& t,
                   const KvLayout& layout) {
  if (options.num_gpu_blocks_override) {
    return saturating_product(*options.num_gpu_blocks_override, layout.block_bytes);
  }
  if (options.kv_cache_memory_bytes) return *options.kv_cache_memory_bytes;
  ByteCount non_kv = t.weights + t.drafter + t.adapters + t.activations + t.growth + t.machine;
  if (vllm_rule(options.version) == VllmRule::all_outside_torch) {
    non_kv += t.others + in.machine.cache_before_bytes;
  }
  non_kv += vllm_graph_estimate_bytes(in, options);
  return requested_bytes(in, options) - non_kv;
}

void check_free(BudgetBuilder& builder, const BudgetInputs& in, const VllmBudgetOptions& options,
                const Terms& t) {
  if (options.kv_cache_memory_bytes || options.version < kChecksFreeMemory) return;
  const ByteCount total = in.machine.total_bytes;
  const ByteCount requested = requested_bytes(in, options);
  const ByteCount free = total - t.others - in.machine.cache_before_bytes;
  if (free >= requested) return;
  builder.fail({StartupStage::free_memory_check,
                fmt::format("free memory {:.2f} GiB is less than the desired GPU memory "
                            "utilization ({} of {:.2f} GiB = {:.2f} GiB)",
                            gib_from_bytes(free), options.gpu_memory_utilization,
                            gib_from_bytes(total), gib_from_bytes(requested)),
                requested, free, 0});
}

// The pool must also be there for the driver. Close to the limit of unified memory it may not be,
// but vLLM itself asks for no more than requested memory that is free (v1/worker/utils.py,
// request_memory, 0.19.1 to 0.29.0), and start-ups of 0.19 at 0.95 of a GB10 succeeded.
void note_slack(const BudgetBuilder& builder, const BudgetInputs& in, MemoryBudget& budget) {
  if (builder.failed() || builder.free_bytes() >= in.machine.slack_bytes) return;
  budget.notes.push_back(
      fmt::format("the pool leaves {:.2f} GiB free by {}: the driver may refuse the last {:.2f} "
                  "GiB, and the machine has no memory left for anything else",
                  gib_from_bytes(builder.free_bytes()), in.machine.free_metric,
                  gib_from_bytes(in.machine.slack_bytes)));
}

// What the host gives up to the last GiB is not known there either: the three start-ups at 0.95
// also captured graphs.
ByteCount graphs_that_fit(const BudgetBuilder& builder, const BudgetInputs& in, ByteCount graphs) {
  const ByteCount free = builder.free_bytes();
  const bool unsure = graphs > free && graphs <= free + in.machine.slack_bytes;
  return unsure ? std::max<ByteCount>(free, 0) : graphs;
}

// One state per decoding sequence: vLLM refuses to capture graphs for more (pull request 38270).
void check_states(BudgetBuilder& builder, const VllmBudgetOptions& options,
                  const MemoryBudget& budget) {
  if (builder.failed() || !budget.layout.recurrent() || options.enforce_eager) return;
  if (options.version < EngineVersion{0, 19} || options.max_num_seqs <= budget.total_blocks) return;
  builder.fail({StartupStage::graph_capture,
                fmt::format("max_num_seqs ({}) exceeds available Mamba cache blocks ({}); lower "
                            "max_num_seqs to at most {} or increase gpu_memory_utilization",
                            options.max_num_seqs, budget.total_blocks, budget.total_blocks),
                options.max_num_seqs * budget.layout.block_bytes, budget.kv_pool_bytes, 0});
}

// Tokens that a request may hold beside its window: those of all steps that are under way at once
// (vllm/config/vllm.py: max_in_flight_tokens, max_concurrent_batches; since 0.26.0).
std::int64_t tokens_in_flight(const BudgetInputs& in, const VllmBudgetOptions& options) {
  constexpr EngineVersion kCountsSteps{0, 26};
  if (options.version < kCountsSteps) return options.max_num_batched_tokens;
  std::int64_t steps = in.sharding.pipeline;
  if (options.async_scheduling && (steps == 1 || vllm_second_runner(in, options))) ++steps;
  return steps * options.max_num_batched_tokens;
}

// "GPU KV cache size: N tokens" (v1/core/kv_cache_utils.py, _report_kv_cache_config): with several
// groups it was the share of one group up to 0.20.0, since then what requests of max_model_len add
// up to.
TokenCount reported_tokens(const MemoryBudget& budget,
                           const std::optional<CompressedLayout>& compressed,
                           const VllmBudgetOptions& options) {
  const KvLayout& layout = budget.layout;
  if (layout.uniform()) return budget.total_blocks * layout.block_tokens;
  constexpr EngineVersion kBoth{0, 20};
  constexpr EngineVersion kCountsIds{0, 27};
  if (options.version > kBoth || (options.version == kBoth && options.patch > 0)) {
    if (compressed && options.version < kCountsIds) {
      const BlockCount request =
          compressed_blocks_by_bytes(*compressed, budget.max_model_len, budget.step_tokens);
      return budget.total_blocks * budget.max_model_len / request;
    }
    return static_cast<TokenCount>(budget.max_concurrency *
                                   static_cast<double>(budget.max_model_len));
  }
  // v1/core/kv_cache_utils.py: in the smallest block of a group.
  std::int32_t smallest = layout.block_tokens;
  for (const KvGroup& group : layout.groups) {
    if (group.kind != KvGroupKind::recurrent) smallest = std::min(smallest, group.block_tokens);
  }
  const auto groups = static_cast<BlockCount>(layout.groups.size());
  return budget.total_blocks / groups * smallest;
}

// The convolutions' states reach back over the drafts (model_executor/layers/mamba/mamba_utils.py:
// conv_kernel - 1 + num_spec columns).
ModelSpec with_draft_columns(ModelSpec model, std::int32_t draft_tokens) {
  for (LayerKind& kind : model.kinds) {
    if (kind.recurrent && kind.recurrent->conv_kernel > 0) {
      kind.recurrent->conv_kernel += draft_tokens;
    }
  }
  return model;
}

std::optional<CompressedLayout> compressed_layout_of(const BudgetInputs& in,
                                                     const VllmBudgetOptions& options,
                                                     std::int64_t stage) {
  if (!keeps_compressed(in.model) || options.version < kGroupsCompressed) return std::nullopt;
  if (!in.drafter || !holds_drafter(in.sharding, stage)) {
    return vllm_compressed_layout(in.model, in.kv, in.sharding, stage, options.version);
  }
  const ModelSpec both = with_drafter_layers(in.model, in.sharding, stage, *in.drafter);
  return vllm_compressed_layout(both, in.kv, drafter_sharding(in.sharding), 0, options.version);
}

// DFlash heads for targets with recurrent layers attend over windows (z-lab/dflash issue 126; their
// size: model-serving-minefield issue 107), which caches are made for since 0.25
// (model_executor/models/qwen3_dflash.py, _resolve_layer_attention of 0.25.1 to 0.27.1; 0.24.0
// keeps everything). Heads that mix windows with full attention are refused by the runner that
// hybrids take, so all layers have one.
ModelSpec with_drafter_windows(ModelSpec drafter, const ModelSpec& target,
                               const VllmBudgetOptions& options) {
  constexpr EngineVersion kKeepsWindows{0, 25};
  constexpr std::int64_t kWindow = 2048;
  const bool recurrent = std::ranges::any_of(
      target.kinds, [](const LayerKind& kind) { return kind.recurrent.has_value(); });
  const bool windows = options.draft_method == "dflash" && recurrent && !has_experts(target) &&
                       options.version >= kKeepsWindows;
  if (!windows) return drafter;
  ModelSpec made = drafter;
  made.kinds.clear();
  made.order.clear();
  for (std::size_t i = 0; i < drafter.order.size(); ++i) {
    LayerKind layer = drafter.layer(i);
    if (layer.attention) layer.attention->window_tokens = kWindow;
    add_layers(made, layer, 1);
  }
  return made;
}

// With decode context parallelism each rank keeps one token in so many: a block of the table
// has `block_size` of them on each rank (v1/core/kv_cache_utils.py: _report_kv_cache_config,
// resolve_kv_cache_block_sizes; v1/kv_cache_interface.py:
// FullAttentionSpec.max_memory_usage_bytes).
KvLayout over_context_ranks(KvLayout layout, const Sharding& sharding) {
  if (sharding.context == 1) return layout;
  if (!layout.keeps_all()) {
    throw ConfigError(
        "decode_context_parallel_size: vLLM shares out one group of layers that keep every token, "
        "and these layers form several");
  }
  const auto ranks = static_cast<std::int32_t>(sharding.context);
  layout.block_tokens *= ranks;
  layout.groups.front().block_tokens *= ranks;
  layout.bytes_per_token = (layout.bytes_per_token + ranks - 1) / ranks;
  return layout;
}

// Nothing reads an encoder's keys again, and vLLM gives them no memory (v1/kv_cache_interface.py:
// EncoderOnlyAttentionSpec). A byte per token and layer lets the scheduler count blocks all the
// same.
KvLayout layout_of_encoder(const ModelSpec& model, std::int32_t block_tokens) {
  const auto layers = static_cast<std::int32_t>(model.layers());
  return uniform_layout(layers, layers, block_tokens);
}

// Of them as many as can be in use.
ByteCount bytes_of_encoder(const VllmBudgetOptions& options, const KvLayout& layout) {
  const BlockCount each = (options.max_model_len + layout.block_tokens - 1) / layout.block_tokens;
  return (options.max_num_seqs * each + 1) * layout.block_bytes;
}

KvLayout layout_of(const BudgetInputs& in, const VllmBudgetOptions& options, std::int64_t stage) {
  if (is_encoder(in.model)) return layout_of_encoder(in.model, options.block_size);
  KvGrouping grouping;
  grouping.block_tokens = options.block_size;
  grouping.pad_below = options.version >= EngineVersion{0, 20} ? 1.5 : 1.25;
  // The hybrid manager is on by default from 0.10; before it windows kept everything.
  grouping.hybrid_manager =
      options.hybrid_kv_cache_manager && options.version >= EngineVersion{0, 10};
  const KvFormat format{in.kv, vllm_pads_sparse_latents(in.device, options.version)};
  const ModelSpec model = with_draft_columns(in.model, options.draft_tokens);
  const auto with_states = [&options](KvLayout layout) {
    // mamba_cache_mode `align` keeps the state that is computed and the one before the last block
    // (v1/kv_cache_interface.py: MambaSpec).
    // Each draft that may be rejected has a state of its own.
    for (KvGroup& group : layout.groups) {
      if (group.kind != KvGroupKind::recurrent) continue;
      group.states = (options.enable_prefix_caching ? 2 : 1) + options.draft_tokens;
    }
    return layout;
  };
  if (in.drafter && holds_drafter(in.sharding, stage)) {
    // Its layers are registered like the model's, in the same dtype (pull request 32165).
    const ModelSpec both = with_drafter_layers(
        model, in.sharding, stage, with_drafter_windows(*in.drafter, in.model, options));
    const Sharding sharding = drafter_sharding(in.sharding);
    return over_context_ranks(with_states(grouped_kv_layout(both, format, sharding, 0, grouping)),
                              sharding);
  }
  return over_context_ranks(
      with_states(grouped_kv_layout(model, format, in.sharding, stage, grouping)), in.sharding);
}

MemoryBudget stage_budget(const BudgetInputs& in, const VllmBudgetOptions& options,
                          std::int64_t stage) {
  const Terms t = terms_of(in, options, stage);
  const ByteCount context =
      in.sharding.tensor == 1
          ? t.growth
          : std::min(t.growth, vllm_context_growth_bytes(options.version, Sharding{}));
  MemoryBudget budget;
  const std::optional<CompressedLayout> compressed = compressed_layout_of(in, options, stage);
  budget.layout = compressed ? compressed->layout : layout_of(in, options, stage);
  BudgetBuilder builder(in.machine.total_bytes);
  MachineMemory machine = in.machine;
  machine.others_bytes = t.others;
  machine.cache_growth_bytes = machine.engine_host_bytes = 0;
  charge_machine(builder, machine);
  check_free(builder, in, options, t);
  builder.charge(MemoryPurpose::weights, t.weights, StartupStage::weights);
  builder.charge(MemoryPurpose::drafter, t.drafter, StartupStage::weights);
  builder.charge(MemoryPurpose::adapters, t.adapters, StartupStage::weights);
  builder.charge(MemoryPurpose::page_cache, in.machine.cache_growth_bytes, StartupStage::weights);
  builder.charge(MemoryPurpose::engine_host, in.machine.engine_host_bytes, StartupStage::weights);
  builder.charge(MemoryPurpose::context, context, StartupStage::profiling);
  builder.charge(MemoryPurpose::communication, t.growth - context, StartupStage::profiling);
  builder.charge(MemoryPurpose::activations, t.activations, StartupStage::profiling);
  PoolRule pool;
  pool.available_bytes = kv_bytes(in, options, t, budget.layout);
  if (is_encoder(in.model)) {
    pool.available_bytes = std::min(pool.available_bytes, bytes_of_encoder(options, budget.layout));
  }
  pool.max_model_len = options.max_model_len;
  pool.step_tokens = tokens_in_flight(in, options);
  pool.null_blocks = 1;
  if (in.model.max_position > 0) pool.longest = in.model.max_position;
  place_pool(builder, pool, budget);
  note_slack(builder, in, budget);
  check_states(builder, options, budget);
  builder.charge(MemoryPurpose::graphs, graphs_that_fit(builder, in, t.graphs),
                 StartupStage::graph_capture);
  builder.finish(budget);
  if (!budget.failure) budget.kv_tokens = reported_tokens(budget, compressed, options);
  if (keeps_compressed(in.model) && !budget.layout.uniform()) {
    budget.layout = with_windows_as_states(budget.layout);
  }
  return budget;
}

}  // namespace

// FlashInfer's kernel of sparse MLA keeps plain latents in 8 bits, FlashMLA's has scales among
// them; where both run the former is the default of such caches (pull requests 35891 and 37252,
// March 2026).
bool vllm_pads_sparse_latents(const DeviceSpec& device, EngineVersion version) {
  const bool has_flashinfer = device.sm == 100 || device.sm == 103;
  return !has_flashinfer || version < EngineVersion{0, 19};
}

VllmRule vllm_rule(EngineVersion version) {
  if (version >= kFreeDifference) return VllmRule::free_difference;
  return version == EngineVersion{0, 8} ? VllmRule::all_outside_torch : VllmRule::own_growth;
}

ByteCount vllm_adapter_bytes(const ModelSpec& model, const Sharding& sharding, std::int64_t stage,
                             const VllmBudgetOptions& options) {
  if (!options.lora) return 0;
  return options.max_loras * lora_size(model, sharding, stage, *options.lora).slot_elements() *
         lora_element_bytes(model);
}

bool vllm_second_runner(const BudgetInputs& inputs, const VllmBudgetOptions& options) {
  return !options.pooling &&
         takes_second_runner(options.version, inputs.model, inputs.device, options.draft_method);
}

ByteCount vllm_context_growth_bytes(EngineVersion version, const Sharding& sharding) {
  const ReleaseConstants& release = constants_of(version);
  return bytes_from_gib(sharding.tensor == 1   ? release.context_gib
                        : sharding.tensor == 2 ? release.context_tp2_gib
                        : sharding.tensor < 8  ? release.context_tp4_gib
                                               : release.context_tp8_gib);
}

ByteCount vllm_other_bytes(const Sharding& sharding) {
  // total 79.19 GiB, free 78.68 at TP1, 77.66 at TP2, 77.64 at TP4 (the same logs).
  return bytes_from_gib(sharding.tensor == 1 ? 0.51 : sharding.tensor == 2 ? 1.53 : 1.55);
}

MemoryBudget vllm_budget(const BudgetInputs& inputs, const VllmBudgetOptions& options) {
  check_options(options);
  check_sharding(inputs.model, inputs.sharding);
  // Where no image is allowed the tower is not built (model_executor/models/qwen2_5_vl.py, later
  // models/interfaces.py: _mark_tower_model).
  constexpr EngineVersion kLeavesTowerOut{0, 11};
  BudgetInputs loaded = inputs;
  if (options.text_only && options.version >= kLeavesTowerOut) {
    loaded.model.vision.reset();
    if (auto& stored = loaded.model.stored) {
      stored->outside[static_cast<std::size_t>(ModelPart::vision)] = 0;
    }
  }
  VllmBudgetOptions ruled = options;
  if (options.v0) ruled.version = std::min(options.version, kLastOfV0Alone);
  return tightest_stage(loaded.sharding,
                        [&](std::int64_t stage) { return stage_budget(loaded, ruled, stage); });
}

std::vector<std::string> vllm_budget_warnings(const BudgetInputs& inputs,
                                              const VllmBudgetOptions& options) {
  std::vector<std::string> warnings;
  const std::string version = to_string(options.version);
  if (options.version > kNewestVllm) {
    warnings.push_back(
        fmt::format("vLLM {} is newer than {}, the newest release whose memory rule is modelled; "
                    "the rule of {} "
                    "is used",
                    version, to_string(kNewestVllm), to_string(kNewestVllm)));
  }
  if (options.version < EngineVersion{0, 10}) {
    warnings.push_back(fmt::format(
        "vLLM {}: activation and context constants before 0.10 come from single logs", version));
  }
  if (inputs.device.id != "h100-sxm" || options.version > kMeasuredVllm) {
    // hardware/catalog/measured/startups, replayed by `headroom validate memory`.
    warnings.push_back(fmt::format(
        "vLLM {} on {}: constants of the memory rule were measured with {} on H100; of 45 logged "
        "start-ups with other releases or devices half had KV within 1.4 % of the rule, and one in "
        "ten at least a quarter less than it gives",
        version, inputs.device.id, to_string(kMeasuredVllm)));
  }
  if (options.pooling) {
    warnings.emplace_back(
        "pooling: the start-up is modelled without a sampler, the steps as those of generation "
        "(workload.output.tokens 1: prompts alone)");
  }
  if (inputs.sharding.tensor > 1 && !inputs.device.nvlink_bytes_per_s) {
    warnings.push_back(
        fmt::format("{}: the size of tensor-parallel buffers without NVLink is an estimate, with "
                    "no log to compare",
                    inputs.device.id));
  }
  return warnings;
}

}  // namespace headroom
