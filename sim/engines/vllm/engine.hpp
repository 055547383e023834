#pragma once
// vLLM: V1, and V0 before release 0.8.

#include <cstdint>
#include <optional>
#include <string>

#include "sim/engines/engine.hpp"
#include "sim/engines/launch.hpp"

namespace headroom {

// Options that only vLLM has; defaults: vLLM 0.19 (ENGINES.md 6.1).
struct VllmOptions {
  bool enforce_eager = false;
  std::optional<bool> estimate_cuda_graphs;
  bool disable_hybrid_kv_cache_manager = false;
  std::optional<std::int64_t> max_cudagraph_capture_size;
  std::string cudagraph_mode;  // empty: by release
  std::string mxfp4_kernel = "auto";
  std::string linear_backend = "auto";
  std::string moe_backend = "auto";
  std::optional<bool> flashinfer_sampler;
  std::string mm_profiling = "auto";
  std::string runner = "auto";
};

inline constexpr EngineVersion kV1{0, 8};        // V1 is the default since
inline constexpr EngineVersion kV1Alone{0, 11};  // and the only one (v1/engine/llm_engine.py)

// From here on a KV connector says whether it can work with the hybrid KV cache manager
// (SupportsHMA); before, any connector turns that off (vllm/config/vllm.py).
inline constexpr EngineVersion kHybridByConnector{0, 22};

// vllm/entrypoints/utils.py: log_non_default_args; before 0.8.5 the whole namespace.
inline constexpr PrintedStart kVllmPrinted[] = {
    {.before = "non-default args: ", .value = "{", .model_key = "model_tag"},
    {.before = "args: ", .value = "Namespace(", .has_defaults = true, .model_key = "model_tag"}};
extern const EngineLaunch kVllmLaunch;
extern const EngineLog kVllmLog;
extern const EngineMetrics kVllmMetrics;
extern const LoadMetrics kVllmLoadMetrics;
[[nodiscard]] const Engine& vllm_engine();

}  // namespace headroom
