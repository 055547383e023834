#include "sim/engines/trtllm/budget.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "hardware/budget/activations.hpp"
#include "hardware/llm/drafter_model.hpp"
#include "hardware/llm/kv_geometry.hpp"
#include "hardware/llm/parameters.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

void check_options(const TrtllmBudgetOptions& o) {
  if (!(o.free_gpu_memory_fraction > 0 && o.free_gpu_memory_fraction <= 1)) {
    throw ConfigError(fmt::format("free_gpu_memory_fraction {}: above 0 and up to 1",
                                  o.free_gpu_memory_fraction));
  }
  if (o.max_batch_size < 1 || o.max_num_tokens < 1 || o.tokens_per_block < 1) {
    throw ConfigError("max_batch_size, max_num_tokens and tokens_per_block: at least 1");
  }
  if ((o.max_seq_len && *o.max_seq_len < 2) || (o.max_tokens && *o.max_tokens < 1)) {
    throw ConfigError("max_seq_len: at least 2, max_tokens: at least 1");
  }
  if (o.max_gpu_total_bytes < 0 || o.host_cache_size < 0 || o.max_draft_len < 0 ||
      o.cuda_graph_max_batch_size < 0) {
    throw ConfigError(
        "max_gpu_total_bytes, host_cache_size, max_draft_len and cuda_graph_max_batch_size: "
        "not negative");
  }
  for (const std::int64_t window : o.max_attention_window) {
    if (window < 1) throw ConfigError(fmt::format("max_attention_window {}: at least 1", window));
  }
}

// The windows that the engine allocates for, which are not those that the model attends over.
ModelSpec with_windows(const ModelSpec& model, const std::vector<std::int64_t>& windows,
                       std::int64_t max_seq_len) {
  ModelSpec made = model;
  made.kinds.clear();
  made.order.clear();
  for (std::size_t i = 0; i < model.order.size(); ++i) {
    LayerKind kind = model.layer(i);
    if (kind.attention) {
      const std::int64_t window = windows.empty() ? 0 : windows[i % windows.size()];
      kind.attention->window_tokens = window < max_seq_len ? window : 0;
      kind.attention->chunked = false;
    }
    add_layers(made, kind, 1);
  }
  return made;
}

KvLayout layout_of(const BudgetInputs& inputs, const TrtllmBudgetOptions& options,
                   std::int64_t max_seq_len, std::int64_t stage) {
  // States of recurrent layers are outside the block pool: max_batch_size of them.
  ModelSpec model =
      without_states(with_windows(inputs.model, options.max_attention_window, max_seq_len));
  Sharding sharding = inputs.sharding;
  if (inputs.drafter && holds_drafter(sharding, stage)) {
    // A token costs the bytes of both models (_util.py, _get_kv_size_per_token).
    model = with_drafter_layers(model, sharding, stage, *inputs.drafter);
    sharding = drafter_sharding(sharding);
    stage = 0;
  }
  const KvFormat format{inputs.kv, false};
  const bool windows = std::ranges::any_of(model.kinds, [](const LayerKind& k) {
    return k.attention && k.attention->window_tokens > 0;
  });
  if (!windows) {
    return flat_kv_layout(model, format, sharding, stage, options.tokens_per_block);
  }
  return grouped_kv_layout(model, format, sharding, stage,
                           {.block_tokens = options.tokens_per_block});
}

// What decides the size of the pool, beside the memory.
struct Limits {
  std::int64_t max_seq_len = 0;
  std::int64_t requests = 0;  // of the dummy run
};

Limits limits_of(const BudgetInputs& inputs, const TrtllmBudgetOptions& options) {
  Limits limits;
  limits.max_seq_len = options.max_seq_len.value_or(inputs.model.max_position);
  if (limits.max_seq_len < 2) {
    throw ConfigError(fmt::format("max_seq_len {}: {} declares no context length, so set one",
                                  limits.max_seq_len, inputs.model.id));
  }
  const std::int64_t prompt = std::max<std::int64_t>(1, limits.max_seq_len - 1);
  limits.requests = (options.max_num_tokens + prompt - 1) / prompt;
  return limits;
}

// Batch sizes 1, 2, 4, 8, 16 ... up to the largest, in steps of 8.
std::int64_t graph_sizes(std::int64_t largest) {
  if (largest < 1) return 0;
  const std::int64_t small = largest >= 4 ? 3 : largest >= 2 ? 2 : 1;
  return small + largest / 8;
}

// What the process holds outside torch before and while the dummy run goes: context, kernels that
// were loaded, MPI and NCCL, cuBLAS; it grows with the tokens of the run. 1.86 to 2.17 GiB on six
// start-ups of 0.20 on H100, 2.55 on one of 1.2 on H200. The runs on a GB10 leave no room for it:
// with the context alone gpt-oss-120b has 42.6 GiB of KV there, and 43.2 were logged on average.
constexpr ByteCount kOutsideBytes = ByteCount{1600} << 20;
constexpr ByteCount kOutsideBytesPerToken = 80 << 10;

ByteCount outside_bytes(const BudgetInputs& inputs) {
  return inputs.device.memory_model == MemoryModel::unified ? kContextBytes : kOutsideBytes;
}

ByteCount outside_run_bytes(const BudgetInputs& inputs, std::int64_t tokens) {
  return inputs.device.memory_model == MemoryModel::unified ? 0 : tokens * kOutsideBytesPerToken;
}

// The C++ runtime, alone before 0.17, also holds the decoder's workspaces (three tables of batch x
// vocabulary in fp32, two of tokens by position) and the buffers of a batch (its logits, and three
// tables by position). A log of 0.16 with 2048 sequences of 25,000 tokens has 3.3 and 1.63 GB:
// this gives 3.32 and 1.55.
constexpr EngineVersion kHasPytorch{0, 17};

ByteCount runtime_bytes(const BudgetInputs& inputs, const TrtllmBudgetOptions& options,
                        const Limits& limits) {
  if (options.version >= kHasPytorch) return 0;
  constexpr std::int64_t kFp32 = 4;
  const std::int64_t tables = 4 * inputs.model.vocab + 5 * limits.max_seq_len;
  return options.max_batch_size * tables * kFp32;
}

// The CUTLASS backend of the experts, the default, fills their mxfp4 matrices up to 128 in both
// directions (1.1: _torch/modules/fused_moe/quantization.py, MXFP4WeightCutlassFusedMoEMethod).
ByteCount expert_padding_bytes(const BudgetInputs& inputs, std::int64_t stage) {
  constexpr std::int64_t kAlignment = 128;
  const auto filled = [](std::int64_t size) {
    const std::int64_t whole = (size + kAlignment - 1) / kAlignment * kAlignment;
    return static_cast<double>(whole) / static_cast<double>(size);
  };
  double share = 1;
  for (const LayerKind& kind : inputs.model.kinds) {
    if (!kind.moe || kind.moe->format.dtype != Dtype::mxfp4) continue;
    const std::int64_t ffn = kind.moe->ffn / inputs.sharding.expert_cuts();
    share = std::max(share, filled(ffn) * filled(inputs.model.hidden));
  }
  const ByteCount experts =
      rank_parts(inputs.model, inputs.sharding, stage).bytes_of(ModelPart::experts);
  return static_cast<ByteCount>(static_cast<double>(experts) * (share - 1));
}

void charge_engine(BudgetBuilder& builder, const BudgetInputs& inputs,
                   const TrtllmBudgetOptions& options, const Limits& limits, std::int64_t stage) {
  charge_machine(builder, inputs.machine);
  builder.charge(MemoryPurpose::context, outside_bytes(inputs), StartupStage::weights);
  builder.charge(MemoryPurpose::communication, communication_bytes(inputs.sharding),
                 StartupStage::weights);
  builder.charge(MemoryPurpose::weights,
                 rank_parts(inputs.model, inputs.sharding, stage).bytes_total() +
                     expert_padding_bytes(inputs, stage),
                 StartupStage::weights);
  if (inputs.drafter && holds_drafter(inputs.sharding, stage)) {
    builder.charge(MemoryPurpose::drafter,
                   rank_weight_bytes(*inputs.drafter, drafter_sharding(inputs.sharding)),
                   StartupStage::weights);
  }
  builder.charge(
      MemoryPurpose::kv_pool,
      options.max_batch_size * state_bytes_per_sequence(inputs.model, inputs.sharding, stage),
      StartupStage::kv_allocation);
  builder.charge(MemoryPurpose::activations, runtime_bytes(inputs, options, limits),
                 StartupStage::weights);
  if (options.skip_estimation) return;
  builder.charge(MemoryPurpose::graphs,
                 decode_graph_bytes(graph_sizes(
                     std::min(options.cuda_graph_max_batch_size, options.max_batch_size))),
                 StartupStage::profiling);
  builder.charge(MemoryPurpose::context, outside_run_bytes(inputs, options.max_num_tokens),
                 StartupStage::profiling);
  const ForwardPass pass{options.max_num_tokens, limits.requests, inputs.model.vision ? 1 : 0};
  builder.charge(MemoryPurpose::activations,
                 activation_peak(inputs.model, inputs.sharding, stage, pass).peak(),
                 StartupStage::profiling);
}

// The dummy run needs its temporary pool at the same time.
void check_temporary_pool(BudgetBuilder& builder, const TrtllmBudgetOptions& options,
                          const KvLayout& layout, const Limits& limits) {
  if (builder.failed() || options.skip_estimation) return;
  const ByteCount wanted =
      trtllm_temporary_tokens(options, limits.max_seq_len) * layout.bytes_per_token;
  if (wanted <= builder.free_bytes()) return;
  builder.fail({StartupStage::profiling,
                fmt::format("CUDA out of memory: the temporary KV pool of the dummy run needs "
                            "{:.2f} GiB, {:.2f} GiB free; lower max_num_tokens ({})",
                            gib_from_bytes(wanted), gib_from_bytes(builder.free_bytes()),
                            options.max_num_tokens),
                wanted, builder.free_bytes(), 0});
}

ByteCount pool_bytes(const BudgetBuilder& builder, const TrtllmBudgetOptions& options,
                     const KvLayout& layout) {
  const ByteCount total = builder.free_bytes();
  ByteCount kv = trtllm_kv_from_peak(total, 0, options.free_gpu_memory_fraction);
  if (options.max_tokens) kv = std::min(kv, *options.max_tokens * layout.bytes_per_token);
  if (options.max_gpu_total_bytes > 0) kv = std::min(kv, options.max_gpu_total_bytes);
  return kv;
}

void place(BudgetBuilder& builder, const TrtllmBudgetOptions& options, const Limits& limits,
           const MachineMemory& machine, MemoryBudget& budget) {
  if (builder.failed()) return;
  const ByteCount kv = pool_bytes(builder, options, budget.layout);
  const BlockCount blocks = kv / budget.layout.block_bytes;
  const std::int64_t longest = largest_length(budget.layout, blocks, 1, limits.max_seq_len);
  if (longest < 1) {
    budget.kv_available_bytes = kv;
    builder.fail({StartupStage::blocks,
                  fmt::format("no memory for a KV block: {:.2f} GiB are left for the KV cache, but "
                              "one block of {} tokens needs {:.3f} GiB",
                              gib_from_bytes(kv), options.tokens_per_block,
                              gib_from_bytes(budget.layout.block_bytes)),
                  budget.layout.block_bytes, kv, 0});
    return;
  }
  if (!pool_is_allocatable(builder, machine, blocks * budget.layout.block_bytes,
                           "CUDA out of memory while allocating the KV cache pool")) {
    return;
  }
  if (longest < limits.max_seq_len) {
    budget.notes.push_back(
        fmt::format("max_seq_len lowered from {} to {}, the longest request that the KV pool "
                    "holds; longer ones are rejected",
                    limits.max_seq_len, longest));
  }
  place_pool(builder, {.available_bytes = kv, .max_model_len = longest}, budget);
}

MemoryBudget stage_budget(const BudgetInputs& inputs, const TrtllmBudgetOptions& options,
                          std::int64_t stage) {
  const Limits limits = limits_of(inputs, options);
  MemoryBudget budget;
  budget.layout = layout_of(inputs, options, limits.max_seq_len, stage);
  check_keeps_kv(budget.layout, inputs.model, "TensorRT-LLM");
  BudgetBuilder builder(capacity_of(inputs));
  charge_engine(builder, inputs, options, limits, stage);
  check_temporary_pool(builder, options, budget.layout, limits);
  place(builder, options, limits, inputs.machine, budget);
  builder.finish(budget);
  if (!budget.failure && options.host_cache_size > 0) {
    budget.notes.push_back(
        fmt::format("host_cache_size: {:.2f} GiB of host memory hold {} more blocks per rank",
                    gib_from_bytes(options.host_cache_size),
                    options.host_cache_size / budget.layout.block_bytes));
  }
  return budget;
}

}  // namespace

TrtllmDefaults trtllm_defaults(const DeviceSpec& /*device*/, const ModelSpec& model,
                               EngineVersion version) {
  TrtllmDefaults defaults;
  defaults.max_seq_len = model.max_position;
  if (version < EngineVersion{1, 0}) defaults.tokens_per_block = 64;
  return defaults;
}

ByteCount trtllm_kv_from_peak(ByteCount total_bytes, ByteCount peak_bytes,
                              double free_gpu_memory_fraction) {
  const ByteCount left = std::max<ByteCount>(0, total_bytes - peak_bytes);
  return static_cast<ByteCount>(static_cast<double>(left) * free_gpu_memory_fraction);
}

TokenCount trtllm_temporary_tokens(const TrtllmBudgetOptions& options, std::int64_t max_seq_len) {
  const std::int64_t overlap = options.disable_overlap_scheduler ? 0 : 1;
  const std::int64_t extra = 1 + overlap + options.max_draft_len;
  const std::int64_t prompt = std::max<std::int64_t>(1, max_seq_len - 1);
  const std::int64_t full = options.max_num_tokens / prompt;
  const std::int64_t rest = options.max_num_tokens % prompt;
  BlockCount blocks = full * blocks_needed(prompt + extra, options.tokens_per_block);
  if (rest > 0) blocks += blocks_needed(rest + extra, options.tokens_per_block);
  return blocks * options.tokens_per_block;
}

MemoryBudget trtllm_budget(const BudgetInputs& inputs, const TrtllmBudgetOptions& options) {
  check_options(options);
  return tightest_stage(inputs.sharding,
                        [&](std::int64_t stage) { return stage_budget(inputs, options, stage); });
}

std::vector<std::string> trtllm_budget_warnings(const BudgetInputs& inputs,
                                                const TrtllmBudgetOptions& options) {
  std::vector<std::string> warnings;
  if (options.version > kNewestTrtllm) {
    warnings.push_back(fmt::format(
        "TensorRT-LLM {} is newer than {}, the newest release whose memory rule is modelled",
        to_string(options.version), to_string(kNewestTrtllm)));
  }
  warnings.emplace_back(
      "TensorRT-LLM: the peak of the dummy run (activations, context, graphs) is an estimate; the "
      "rule that sizes the KV pool from it matches measurements");
  if (!options.max_attention_window.empty()) {
    warnings.emplace_back(
        "TensorRT-LLM: the pools of different windows are modelled as one, so too many short "
        "requests fit");
  }
  if (has_states(inputs.model)) {
    warnings.push_back(
        fmt::format("TensorRT-LLM: {} holds recurrent states for max_batch_size {} outside the "
                    "block pool; we assume that they are counted once",
                    inputs.model.id, options.max_batch_size));
  }
  if (inputs.device.memory_model == MemoryModel::unified) {
    warnings.emplace_back(
        "TensorRT-LLM does not correct for unified memory: page cache, tmpfs and other processes "
        "count as used when it sizes the pool");
  }
  return warnings;
}

}  // namespace headroom
