#pragma once
// TensorRT-LLM.

#include <cstdint>
#include <optional>

#include "sim/engines/engine.hpp"

namespace headroom {

// Options that only TensorRT-LLM has; defaults: llmapi/llm_args.py (ENGINES.md 6.2).
struct TrtllmOptions {
  double free_gpu_memory_fraction = 0.9;
  std::int64_t max_num_tokens = 8192;
  std::optional<std::int64_t> max_seq_len;
  std::int64_t tokens_per_block = 32;
  std::optional<std::int64_t> max_tokens;
  std::int64_t max_gpu_total_bytes = 0;
  std::int64_t host_cache_size = 0;
  bool disable_overlap_scheduler = false;
  std::int64_t cuda_graph_max_batch_size = 128;
  bool enable_piecewise_cuda_graph = false;
};

extern const EngineLaunch kTrtllmLaunch;
extern const EngineLog kTrtllmLog;
[[nodiscard]] const Engine& trtllm_engine();

}  // namespace headroom
