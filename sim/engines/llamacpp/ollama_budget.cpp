#include "sim/engines/llamacpp/ollama_budget.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

constexpr EngineVersion kTieredContext{0, 16};  // 0.15.5, and releases are compared by minor
constexpr EngineVersion kFourThousand{0, 6};
constexpr EngineVersion kOneParallel{0, 10};
// Buffers are those of builds before June 2026, as in logs of Ollama 0.21 and 0.24; which release
// took a later build is not known.
constexpr EngineVersion kLoggedBuild{0, 9010};
constexpr EngineVersion kOllamaFlashByDefault{0, 13};

void check_options(const OllamaBudgetOptions& o) {
  if ((o.num_ctx && *o.num_ctx < 1) || (o.num_parallel && *o.num_parallel < 1) ||
      (o.num_gpu && *o.num_gpu < 0)) {
    throw ConfigError("num_ctx and OLLAMA_NUM_PARALLEL: at least 1; num_gpu: not negative");
  }
}

}  // namespace

OllamaDefaults ollama_defaults(const DeviceSpec& device, const ModelSpec& /*model*/,
                               EngineVersion version) {
  OllamaDefaults defaults;
  defaults.num_parallel = version < kOneParallel ? 4 : 1;
  if (version < kFourThousand) defaults.num_ctx = 2048;
  if (version >= kTieredContext) {
    const double gib = gib_from_bytes(device.memory_reported_bytes);
    defaults.num_ctx = gib < 24 ? 4096 : gib < 48 ? 32768 : 262144;
  }
  return defaults;
}

OllamaRunner ollama_runner(const BudgetInputs& inputs, const OllamaBudgetOptions& options) {
  check_options(options);
  const OllamaDefaults defaults = ollama_defaults(inputs.device, inputs.model, options.version);
  OllamaRunner runner;
  LlamacppBudgetOptions& o = runner.options;
  o.version = kLoggedBuild;
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
  o.cache_ram_mib = 0;  // its own runner, which the logs are of, has no such cache
  const bool flash = options.flash_attention.value_or(options.version >= kOllamaFlashByDefault);
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
  o.output_last = true;
  o.no_mmap = !options.use_mmap;
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
        "Ollama before 0.10 serves 4 requests in parallel, or 1 if 4 do not fit; 4 are assumed");
  }
  return warnings;
}

}  // namespace headroom
