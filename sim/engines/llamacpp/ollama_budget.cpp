#include "sim/engines/llamacpp/ollama_budget.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/engines/llamacpp/ollama_fit.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

constexpr EngineVersion kTieredContext{0, 16};  // 0.15.5, and releases are compared by minor
constexpr EngineVersion kFourThousand{0, 7};    // 0.6.7
constexpr EngineVersion kTwoParallel{0, 7};
constexpr EngineVersion kOneParallel{0, 10};
constexpr EngineVersion kFlashByFamily{0, 11};
constexpr EngineVersion kMoreFamilies{0, 12};
constexpr EngineVersion kFlashByDefault{0, 13};
// Starts llama-server instead of a runner of its own, which took the kinds of llama.cpp's of
// December 2025 at last.
constexpr EngineVersion kStartsLlamaServer{0, 30};

// The build whose rules a release has: LLAMA_CPP_VERSION of 0.30 to 0.33; before, the commits that
// Makefile.sync names, dated.
EngineVersion build_of(EngineVersion version) {
  struct Pinned {
    EngineVersion since;
    std::int32_t build;
  };
  static constexpr Pinned kPinned[] = {{{0, 33}, 10488}, {{0, 32}, 9888}, {{0, 30}, 9672},
                                       {{0, 13}, 7437},  {{0, 12}, 6740}, {{0, 11}, 6260},
                                       {{0, 7}, 5370},   {{0, 0}, 4790}};
  for (const Pinned& pinned : kPinned) {
    if (version >= pinned.since) return {0, pinned.build};
  }
  return {0, kPinned[0].build};
}

bool is_gpt_oss(const ModelSpec& model) {
  return std::ranges::any_of(model.kinds, [](const LayerKind& kind) {
    return kind.moe && kind.attention && kind.attention->sinks;
  });
}

// fs/ggml/ggml.go, FlashAttention: gpt-oss, then Gemma 3 and Qwen3; from 0.13 on what the backend
// supports.
bool flash_by_default(const ModelSpec& model, EngineVersion version) {
  if (version >= kFlashByDefault) return true;
  return std::ranges::any_of(model.kinds, [&](const LayerKind& kind) {
    if (!kind.attention) return false;
    const bool later = version >= kMoreFamilies && kind.attention->qk_norm;
    return version >= kFlashByFamily && (kind.attention->sinks || later);
  });
}

void check_options(const OllamaBudgetOptions& o) {
  if ((o.num_ctx && *o.num_ctx < 1) || (o.num_parallel && *o.num_parallel < 1) ||
      (o.num_gpu && *o.num_gpu < 0)) {
    throw ConfigError("num_ctx and OLLAMA_NUM_PARALLEL: at least 1; num_gpu: not negative");
  }
}

}  // namespace

std::int64_t ollama_embedding_batch(EngineVersion version, std::int64_t num_ctx) {
  constexpr EngineVersion kWholeContext{0, 13};
  constexpr std::int64_t kServerBatch = 2048;
  constexpr std::int64_t kUsualBatch = 512;
  if (version >= kStartsLlamaServer) return std::min(kServerBatch, num_ctx);
  return version >= kWholeContext ? num_ctx : std::min(kUsualBatch, num_ctx);
}

OllamaDefaults ollama_defaults(const DeviceSpec& device, std::int64_t devices,
                               const ModelSpec& model, EngineVersion version) {
  const double gib = gib_from_bytes(device.memory_reported_bytes) * static_cast<double>(devices);
  OllamaDefaults defaults;
  defaults.num_parallel = version < kTwoParallel ? 4 : version < kOneParallel ? 2 : 1;
  if (version < kFourThousand) defaults.num_ctx = 2048;
  if (version >= kFlashByFamily && version < kTieredContext && is_gpt_oss(model) && gib >= 20) {
    defaults.num_ctx = 8192;
  }
  if (version >= kTieredContext) {
    defaults.num_ctx = gib < 23 ? 4096 : gib < 47 ? 32768 : 262144;  // server/routes.go
  }
  return defaults;
}

OllamaRunner ollama_runner(const BudgetInputs& inputs, const OllamaBudgetOptions& options) {
  check_options(options);
  const OllamaDefaults defaults =
      ollama_defaults(inputs.device, inputs.sharding.devices(), inputs.model, options.version);
  OllamaRunner runner;
  LlamacppBudgetOptions& o = runner.options;
  o.version = build_of(options.version);
  const bool server = options.version >= kStartsLlamaServer;
  std::int64_t num_ctx = options.num_ctx.value_or(defaults.num_ctx);
  const std::int64_t longest = inputs.model.max_position;
  if (longest > 0 && num_ctx > longest) {
    runner.notes.push_back(
        fmt::format("num_ctx lowered from {} to the model's {}", num_ctx, longest));
    num_ctx = longest;
  }
  o.parallel = options.num_parallel.value_or(defaults.num_parallel);
  o.ctx_size = num_ctx * *o.parallel;
  o.kv_unified = false;
  if (is_encoder(inputs.model)) {
    o.ubatch_size = ollama_embedding_batch(options.version, num_ctx);
  }
  if (!server) o.cache_ram_mib = 0;  // its own runner has no such cache
  const bool flash =
      options.flash_attention.value_or(flash_by_default(inputs.model, options.version));
  o.flash_attn = flash ? LlamacppFlashAttn::on : LlamacppFlashAttn::off;
  o.cache_type_k = o.cache_type_v = options.kv_cache_type;
  if (is_quantised(options.kv_cache_type) && !flash) {
    runner.notes.push_back(
        fmt::format("quantized kv cache ({}) requested but flash attention disabled: f16 is used",
                    name_of(options.kv_cache_type)));
    o.cache_type_k = o.cache_type_v = Dtype::fp16;
  }
  o.n_gpu_layers = options.num_gpu;
  // "If we can't fit everything then prefer offloading layers other than the output layer"
  // (llm/server.go, assignLayers; the runner's own count in earlier releases).
  o.output_last = !server;
  o.no_mmap = !options.use_mmap;
  if (server) {
    ollama_choose_devices(inputs, o);
  } else if (!o.n_gpu_layers) {
    ollama_fit(inputs, o);
  }
  return runner;
}

MemoryBudget ollama_budget(const BudgetInputs& inputs, const OllamaBudgetOptions& options) {
  const OllamaRunner runner = ollama_runner(inputs, options);
  MemoryBudget budget = llamacpp_budget(inputs, runner.options);
  budget.notes.insert(budget.notes.begin(), runner.notes.begin(), runner.notes.end());
  return budget;
}

std::vector<std::string> ollama_budget_warnings(const BudgetInputs& inputs,
                                                const OllamaBudgetOptions& options) {
  std::vector<std::string> warnings =
      llamacpp_budget_warnings(inputs, ollama_runner(inputs, options).options);
  if (options.version > kNewestOllama) {
    warnings.insert(warnings.begin(),
                    fmt::format("Ollama {} is newer than {}, the newest release that is modelled",
                                to_string(options.version), to_string(kNewestOllama)));
  }
  if (options.version < kOneParallel && !options.num_parallel) {
    warnings.emplace_back(
        "Ollama before 0.10 serves 4 requests in parallel (2 from 0.7), or 1 if they do not fit; "
        "that "
        "they fit is assumed");
  }
  return warnings;
}

}  // namespace headroom
