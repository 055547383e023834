#pragma once
// vLLM: V1, and V0 before release 0.8.

#include <optional>

#include "sim/engines/engine.hpp"

namespace headroom {

// Options that only vLLM has; defaults: vLLM 0.19 (ENGINES.md 6.1).
struct VllmOptions {
  bool enforce_eager = false;
  std::optional<bool> estimate_cuda_graphs;
  bool disable_hybrid_kv_cache_manager = false;
};

extern const EngineLaunch kVllmLaunch;
extern const EngineLog kVllmLog;
extern const EngineMetrics kVllmMetrics;
[[nodiscard]] const Engine& vllm_engine();

}  // namespace headroom
