#include "hardware/budget/vllm.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "hardware/cost/capture_sizes.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

// Constants by release, fitted on the start-up logs in groundtruth/memory_facts: llm-d-planner's
// campaign for 0.17-0.19 on H100, single rows for 0.10-0.16 and for V0 (before 0.8).
struct ReleaseConstants {
  EngineVersion since;
  double sampler_bytes;    // per sampled row and vocabulary entry, with 16-bit logits
  double context_gib;      // growth outside torch on one device
  double context_tp2_gib;  // with two ranks, NCCL included
  double context_tp4_gib;  // with four or more
};
constexpr ReleaseConstants kReleases[] = {
    {{0, 0}, 36.0, 0.13, 0.55, 0.55},
    {{0, 8}, 38.7, 0.13, 0.55, 0.55},
    {{0, 17}, 14.9, 0.25, 2.08, 2.17},
};

const ReleaseConstants& constants_of(EngineVersion version) {
  const ReleaseConstants* found = &kReleases[0];
  for (const ReleaseConstants& release : kReleases) {
    if (release.since <= version) found = &release;
  }
  return *found;
}

std::int64_t activation_element_bytes(Dtype weights) { return weights == Dtype::fp32 ? 4 : 2; }

// Peak of the profiling pass over the layers: the MLP's wide products are alive together with a few
// copies of the hidden state (4.25 of them reproduces CodeLlama-7b 0.77 and Granite-3.1-8b 0.85
// GiB). Routed experts hold their own copies of each token (ENGINES.md 8).
ByteCount forward_peak_bytes(const ModelSpec& model, const VllmBudgetOptions& options) {
  const std::int64_t tokens = options.max_num_batched_tokens;
  const std::int64_t tp = options.tensor_parallel_size;
  const std::int64_t bytes = activation_element_bytes(options.weights);
  std::int64_t widest = 3 * model.ffn / tp;
  if (model.moe) {
    const MoeSpec& moe = *model.moe;
    const std::int64_t routed = moe.top_k * (3 * moe.ffn / tp + model.hidden);
    widest = std::max(widest, routed + 3 * moe.shared_ffn / tp);
  }
  return tokens * bytes * (widest + model.hidden * 17 / 4);
}

}  // namespace

VllmDefaults vllm_defaults(const DeviceSpec& device, const ModelSpec& model,
                           EngineVersion version) {
  // vLLM asks NVML, which does not answer for integrated devices: their memory counts as unknown.
  const bool known = device.memory_model != MemoryModel::unified;
  const bool large = known && device.memory_reported_bytes >= bytes_from_gib(70) &&
                     device.id.find("a100") == std::string::npos;
  const bool largest = large && device.memory_reported_bytes >= bytes_from_gib(160) &&
                       version >= EngineVersion{0, 28};
  VllmDefaults defaults;
  if (large) {
    defaults.max_num_batched_tokens = largest ? 16384 : 8192;
    defaults.max_num_seqs = version >= EngineVersion{0, 10} ? 1024 : 256;
  }
  defaults.gpu_memory_utilization = version >= EngineVersion{0, 22} ? 0.92 : 0.90;
  defaults.block_size = model.mla ? 64 : 16;
  defaults.async_scheduling = version >= EngineVersion{0, 14};
  return defaults;
}

ByteCount vllm_loaded_weight_bytes(const ModelSpec& model, Dtype weights, std::int64_t tp) {
  // The rotary table (cosine and sine of every position) is not in the checkpoint.
  const std::int64_t rotary = model.position_rows > 0 ? 0
                              : model.mla             ? model.mla->qk_rope
                                                      : model.head_dim;
  return weight_bytes(model, weights, tp) +
         model.max_position * rotary * activation_element_bytes(weights);
}

ByteCount vllm_activation_bytes(const ModelSpec& model, const VllmBudgetOptions& options) {
  const std::int64_t element = activation_element_bytes(options.weights);
  const std::int64_t rows = std::min(options.max_num_seqs, options.max_num_batched_tokens);
  const double per_logit =
      constants_of(options.version).sampler_bytes + static_cast<double>(element - 2);
  const auto sampler = static_cast<ByteCount>(static_cast<double>(rows * model.vocab) * per_logit) +
                       options.max_num_batched_tokens * model.hidden * element;
  return std::max(sampler, forward_peak_bytes(model, options));
}

ByteCount vllm_context_growth_bytes(EngineVersion version, std::int64_t tp) {
  const ReleaseConstants& release = constants_of(version);
  return bytes_from_gib(tp == 1   ? release.context_gib
                        : tp == 2 ? release.context_tp2_gib
                                  : release.context_tp4_gib);
}

ByteCount vllm_graph_bytes(const ModelSpec& model, const VllmBudgetOptions& options) {
  if (options.enforce_eager) return 0;
  // 0.3 GiB + 0.0187 GiB per layer for the 51 sizes up to 512: 0.64-1.85 GiB on 32 start-ups of
  // vLLM 0.19 on H100, where this is 10 % off on average at TP1. Estimate for other numbers of
  // sizes.
  const auto sizes =
      vllm_capture_sizes(options.max_num_seqs, options.max_num_batched_tokens).size();
  const double all_sizes = 0.3 + 0.0187 * static_cast<double>(model.layers);
  return bytes_from_gib(all_sizes * static_cast<double>(sizes) / 51.0);
}

ByteCount vllm_other_bytes(std::int64_t tp) {
  // total 79.19 GiB, free 78.68 at TP1, 77.66 at TP2, 77.64 at TP4 (the same logs).
  return bytes_from_gib(tp == 1 ? 0.51 : tp == 2 ? 1.53 : 1.55);
}

namespace {

void check_options(const VllmBudgetOptions& o) {
  if (!(o.gpu_memory_utilization > 0 && o.gpu_memory_utilization <= 1)) {
    throw ConfigError(
        fmt::format("gpu_memory_utilization {}: above 0 and up to 1", o.gpu_memory_utilization));
  }
  if (o.max_model_len < 1 || o.max_num_seqs < 1 || o.max_num_batched_tokens < 1 ||
      o.block_size < 1) {
    throw ConfigError(
        "max_model_len, max_num_seqs, max_num_batched_tokens and block_size: at least 1");
  }
  if (o.num_gpu_blocks_override && *o.num_gpu_blocks_override < 2) {
    throw ConfigError("num_gpu_blocks_override: at least 2, one is the null block");
  }
  if (o.kv_cache_memory_bytes && *o.kv_cache_memory_bytes < 1) {
    throw ConfigError("kv_cache_memory_bytes: at least 1");
  }
}

// Bytes for KV by the rule, or by the user's own word.
ByteCount kv_bytes(const VllmBudgetOptions& options, const KvLayout& layout, ByteCount requested,
                   ByteCount non_kv) {
  if (options.num_gpu_blocks_override) {
    return *options.num_gpu_blocks_override * layout.bytes_per_block();
  }
  return options.kv_cache_memory_bytes.value_or(requested - non_kv);
}

}  // namespace

MemoryBudget vllm_budget(const ModelSpec& model, const DeviceSpec& device,
                         const VllmBudgetOptions& options) {
  check_options(options);
  const std::int64_t tp = options.tensor_parallel_size;
  const ByteCount total = device.memory_reported_bytes;
  const ByteCount requested = share_of(total, options.gpu_memory_utilization);
  const ByteCount others = options.other_bytes.value_or(vllm_other_bytes(tp));
  const ByteCount weights = vllm_loaded_weight_bytes(model, options.weights, tp);
  const ByteCount activations = vllm_activation_bytes(model, options);
  const ByteCount growth = vllm_context_growth_bytes(options.version, tp);
  const ByteCount context = std::min(growth, vllm_context_growth_bytes(options.version, 1));

  MemoryBudget budget;
  budget.layout = make_kv_layout(model, options.kv, tp, options.block_size);
  BudgetBuilder builder(total);
  builder.charge(MemoryPurpose::others, others, StartupStage::free_memory_check);
  if (!options.kv_cache_memory_bytes && total - others < requested) {
    builder.fail({StartupStage::free_memory_check,
                  fmt::format("free memory {:.2f} GiB is less than the desired GPU memory "
                              "utilization ({} of {:.2f} GiB = {:.2f} GiB)",
                              gib_from_bytes(total - others), options.gpu_memory_utilization,
                              gib_from_bytes(total), gib_from_bytes(requested)),
                  requested, total - others, 0});
  }
  builder.charge(MemoryPurpose::weights, weights, StartupStage::weights);
  builder.charge(MemoryPurpose::context, context, StartupStage::profiling);
  builder.charge(MemoryPurpose::communication, growth - context, StartupStage::profiling);
  builder.charge(MemoryPurpose::activations, activations, StartupStage::profiling);
  const ByteCount available =
      kv_bytes(options, budget.layout, requested, weights + activations + growth);
  place_pool(builder, available, options.max_model_len, 1, budget);
  builder.charge(MemoryPurpose::graphs, vllm_graph_bytes(model, options),
                 StartupStage::graph_capture);
  builder.finish(budget);
  return budget;
}

std::vector<std::string> vllm_budget_warnings(const ModelSpec& model, const DeviceSpec& device,
                                              const VllmBudgetOptions& options) {
  std::vector<std::string> warnings;
  if (options.version > kNewestVllm) {
    warnings.push_back(
        fmt::format("vLLM {} is newer than {}, the newest release whose memory rule is "
                    "modelled; the rule of {} is used",
                    to_string(options.version), to_string(kNewestVllm), to_string(kNewestVllm)));
  }
  if (options.version < EngineVersion{0, 10}) {
    warnings.push_back(
        fmt::format("vLLM {}: activation and context constants before 0.10 rest on "
                    "single logs",
                    to_string(options.version)));
  }
  if (model.moe) {
    warnings.push_back(
        fmt::format("{}: the activation peak of mixture-of-experts models is an "
                    "estimate, not fitted",
                    model.id));
  }
  if (device.id != "h100-sxm") {
    warnings.push_back(fmt::format(
        "{}: constants of the memory rule were measured on H100; the one logged start-up elsewhere "
        "(vLLM 0.19, RTX 4090) had 0.40 GiB less KV than the rule gives",
        device.id));
  }
  if (device.memory_model == MemoryModel::unified) {
    warnings.push_back(
        fmt::format("{}: host memory use (page cache, other processes) is not modelled "
                    "on unified memory; only other_bytes is taken off",
                    device.id));
  }
  return warnings;
}

}  // namespace headroom
