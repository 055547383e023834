#pragma once
// llama.cpp's server, and Ollama, which runs it.

#include <cstdint>
#include <optional>
#include <string>

#include "sim/engines/engine.hpp"

namespace headroom {

struct StartedLines;

// Options that only llama.cpp's server has; defaults: common/arg.cpp (ENGINES.md 6.5).
struct LlamacppOptions {
  std::optional<std::int64_t> ctx_size;
  std::optional<std::int64_t> parallel;
  std::string cache_type_k = "f16";
  std::string cache_type_v = "f16";
  std::optional<std::int64_t> n_gpu_layers;
  std::optional<std::int64_t> n_cpu_moe;
  std::int64_t ubatch_size = 512;
  bool no_mmap = false;
  std::optional<std::string> flash_attn;
  std::optional<bool> kv_unified;
  bool no_kv_offload = false;
  bool swa_full = false;
  std::optional<std::int64_t> cache_ram;
};

// Options that only Ollama has; defaults: envconfig/config.go.
struct OllamaOptions {
  std::optional<std::int64_t> num_ctx;
  std::optional<std::int64_t> num_parallel;
  std::string kv_cache_type = "f16";
  std::optional<bool> flash_attention;
  std::optional<std::int64_t> num_gpu;
  bool use_mmap = true;
};

extern const EngineLaunch kLlamacppLaunch;
extern const StartedLines kLlamacppStartedLines;
extern const LoadMetrics kLlamacppLoadMetrics;
[[nodiscard]] const Engine& llamacpp_engine();
extern const EngineLaunch kOllamaLaunch;
extern const StartedLines kOllamaStartedLines;
[[nodiscard]] const Engine& ollama_engine();

}  // namespace headroom
