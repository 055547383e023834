#pragma once
// The start-up budget of vLLM up to v0.19 on a discrete device: the KV pool is what remains of
// gpu_memory_utilization x TOTAL memory after weights, activation peak and growth outside torch.
// Graphs are captured later and live in the rest. Rule: ENGINES.md 1.1 (a); constants:
// start-up logs of vLLM 0.19.0 on H100 published by llm-d-planner (Apache-2.0).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hardware/budget/budget.hpp"
#include "hardware/device.hpp"
#include "hardware/engine_version.hpp"
#include "hardware/llm.hpp"

namespace headroom {

inline constexpr EngineVersion kNewestVllm{0, 19};  // the newest release this rule is fitted on

struct VllmDefaults {
  std::int32_t max_num_batched_tokens = 2048;  // of the API server
  std::int32_t max_num_seqs = 256;
  double gpu_memory_utilization = 0.90;
  std::int32_t block_size = 16;
  bool async_scheduling = true;
};
// ENGINES.md 6.1 (vLLM arg_utils), of the API server. `model` decides the block size (MLA: 64).
[[nodiscard]] VllmDefaults vllm_defaults(const DeviceSpec& device, const ModelSpec& model,
                                         EngineVersion version);

struct VllmBudgetOptions {
  EngineVersion version = kNewestVllm;
  std::int64_t tensor_parallel_size = 1;
  Dtype weights = Dtype::bf16;
  Dtype kv = Dtype::bf16;
  double gpu_memory_utilization = 0.90;            // of total memory, (0, 1]
  std::optional<ByteCount> kv_cache_memory_bytes;  // replaces the whole rule
  std::optional<BlockCount> num_gpu_blocks_override;
  std::int64_t max_model_len = 8192;
  std::int32_t max_num_seqs = 256;
  std::int32_t max_num_batched_tokens = 2048;
  std::int32_t block_size = 16;
  bool enforce_eager = false;            // no graphs are captured
  std::optional<ByteCount> other_bytes;  // total - free before load; else measured default
};

[[nodiscard]] MemoryBudget vllm_budget(const ModelSpec& model, const DeviceSpec& device,
                                       const VllmBudgetOptions& options);

// The terms of the rule, for `audit`.
[[nodiscard]] ByteCount vllm_loaded_weight_bytes(const ModelSpec& model, Dtype weights,
                                                 std::int64_t tp);
[[nodiscard]] ByteCount vllm_activation_bytes(const ModelSpec& model,
                                              const VllmBudgetOptions& options);
[[nodiscard]] ByteCount vllm_context_growth_bytes(EngineVersion version, std::int64_t tp);
[[nodiscard]] ByteCount vllm_graph_bytes(const ModelSpec& model, const VllmBudgetOptions& options);
[[nodiscard]] ByteCount vllm_other_bytes(
    std::int64_t tp);  // used before the engine's first snapshot

// What the rule does not cover (newer version, unmeasured range), one warning each.
[[nodiscard]] std::vector<std::string> vllm_budget_warnings(const ModelSpec& model,
                                                            const DeviceSpec& device,
                                                            const VllmBudgetOptions& options);

}  // namespace headroom
