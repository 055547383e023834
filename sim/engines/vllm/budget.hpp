#pragma once
// The start-up budget of vLLM: the KV pool is what remains of gpu_memory_utilization x TOTAL memory
// after weights, activation peak and growth outside torch. Three generations of the sum, by
// release:
//   0.8           everything outside torch is taken off, what others hold as well
//   to 0.19       what the engine's own start took; graphs are captured later, out of the rest
//   from 0.20     the same by difference of free memory, and an estimate of the graphs is taken off
// Rule: ENGINES.md 1.1, 1.2; the release that turned the graph estimate on: vllm/envs.py.
// Constants: start-up logs of vLLM 0.19.0 on H100 published by llm-d-planner (Apache-2.0), single
// public logs for other releases.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hardware/budget/budget.hpp"
#include "hardware/engine_version.hpp"
#include "hardware/llm/lora.hpp"

namespace headroom {

inline constexpr EngineVersion kMeasuredVllm{0, 19};  // the release the constants are fitted on
inline constexpr EngineVersion kNewestVllm{0, 33};    // the newest whose rule is known

enum class VllmRule : std::uint8_t { all_outside_torch, own_growth, free_difference };
[[nodiscard]] VllmRule vllm_rule(EngineVersion version);
[[nodiscard]] bool vllm_pads_sparse_latents(const DeviceSpec& device, EngineVersion version);

struct VllmBudgetOptions {
  EngineVersion version = kMeasuredVllm;
  std::int32_t patch = 0;                          // of the release
  bool v0 = false;                                 // the engine before V1, chosen in 0.8 to 0.10
  double gpu_memory_utilization = 0.90;            // of total memory, (0, 1]
  std::optional<ByteCount> kv_cache_memory_bytes;  // replaces the whole rule
  std::optional<BlockCount> num_gpu_blocks_override;
  std::int64_t max_model_len = 8192;  // -1: the largest that fits
  std::int32_t max_num_seqs = 256;
  std::int32_t max_num_batched_tokens = 2048;
  std::int32_t block_size = 16;
  bool async_scheduling = false;            // the next step is planned while one runs
  bool enforce_eager = false;               // no graphs are captured
  std::optional<std::int64_t> max_capture;  // largest captured step, in tokens
  std::optional<bool> estimate_graphs;      // VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS
  std::int32_t draft_tokens = 0;            // per step, of speculative decoding
  std::string draft_method = "none";
  bool compile_cache_empty = false;     // the first start of a model on a machine
  bool hybrid_kv_cache_manager = true;  // off: windows are kept as full attention
  bool enable_prefix_caching = true;
  bool profile_multimodal = true;  // off: --skip-mm-profiling, or text_only
  bool text_only = false;          // no images allowed: --language-model-only
  bool pooling = false;            // vectors instead of tokens: nothing is sampled
  bool marlin_experts = false;     // VLLM_MXFP4_USE_MARLIN
  bool flashinfer_sampler = false;
  std::optional<LoraShape> lora;  // enable_lora; its rank: max_lora_rank
  std::int64_t max_loras = 1;     // slots
};

[[nodiscard]] MemoryBudget vllm_budget(const BudgetInputs& inputs,
                                       const VllmBudgetOptions& options);

// The terms of the rule, of one pipeline stage.
[[nodiscard]] ByteCount vllm_loaded_weight_bytes(const ModelSpec& model, const Sharding& sharding,
                                                 std::int64_t stage);
// Buffers that models make beside their weights: for the features of a step's images that layers
// behind the first take (Qwen3-VL), and for the residual streams that a drafter would read
// (DeepSeek V4).
[[nodiscard]] ByteCount vllm_model_buffer_bytes(const ModelSpec& model, const Sharding& sharding,
                                                std::int64_t stage,
                                                const VllmBudgetOptions& options);
// Reserved by the profiling pass for prompts under sparse attention, and kept; 0 without.
[[nodiscard]] ByteCount vllm_sparse_workspace_bytes(const ModelSpec& model,
                                                    const VllmBudgetOptions& options);
// Slots for LoRA adapters; 0 without.
[[nodiscard]] ByteCount vllm_adapter_bytes(const ModelSpec& model, const Sharding& sharding,
                                           std::int64_t stage, const VllmBudgetOptions& options);
// Whether the second model runner serves it (model_runner.hpp); it knows no pooling models.
[[nodiscard]] bool vllm_second_runner(const BudgetInputs& inputs, const VllmBudgetOptions& options);
[[nodiscard]] ByteCount vllm_activation_bytes(const ModelSpec& model, const Sharding& sharding,
                                              const VllmBudgetOptions& options,
                                              bool second_runner = false,
                                              std::int64_t drafted_states = 0);
// Hidden states of a token that the target's layers hand to the drafter beside the last one: they
// are all alive at the end of a pass (v1/worker/gpu_model_runner.py: use_aux_hidden_state_outputs).
[[nodiscard]] std::int64_t vllm_drafted_states(const BudgetInputs& inputs,
                                               const VllmBudgetOptions& options);
// Of the vision tower's outputs, while layers and sampler are profiled.
[[nodiscard]] ByteCount vllm_held_encoder_bytes(const ModelSpec& model,
                                                const VllmBudgetOptions& options);
// Of the vision tower while it encodes the largest images; 0 for towers of images of one size,
// which stay below the peak of the layers.
[[nodiscard]] ByteCount vllm_encoder_bytes(const ModelSpec& model, const Sharding& sharding,
                                           const VllmBudgetOptions& options);
// What mxfp4 experts take beyond the checkpoint: their kernels want padded matrices.
[[nodiscard]] ByteCount vllm_expert_padding_bytes(const ModelSpec& model, const DeviceSpec& device,
                                                  const Sharding& sharding, std::int64_t stage,
                                                  const VllmBudgetOptions& options);
[[nodiscard]] ByteCount vllm_context_growth_bytes(EngineVersion version, const Sharding& sharding);
[[nodiscard]] ByteCount vllm_graph_bytes(const ModelSpec& model, const Sharding& sharding,
                                         const VllmBudgetOptions& options);
// What the profiling pass expects of them and keeps out of the pool; 0 where it expects nothing.
[[nodiscard]] ByteCount vllm_graph_estimate_bytes(const BudgetInputs& in,
                                                  const VllmBudgetOptions& options);
// Used on a discrete device before the engine's first snapshot: driver, context, NCCL.
[[nodiscard]] ByteCount vllm_other_bytes(const Sharding& sharding);

// What the rule does not cover (newer version, unmeasured range), one warning each.
[[nodiscard]] std::vector<std::string> vllm_budget_warnings(const BudgetInputs& inputs,
                                                            const VllmBudgetOptions& options);

}  // namespace headroom
