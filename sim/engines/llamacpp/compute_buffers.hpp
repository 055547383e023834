#pragma once
// What llama.cpp reserves for the largest graph: buffers of the device and what the host prepares.

#include "sim/engines/llamacpp/budget.hpp"

namespace headroom {

// The build that made flash attention automatic.
inline constexpr EngineVersion kLlamacppFlash{0, 6325};

[[nodiscard]] bool llamacpp_flash_attention(const LlamacppBudgetOptions& options);

// Masks for flash attention in 16 bits from the start, not in 32 that the device converts.
[[nodiscard]] bool llamacpp_half_masks(const LlamacppBudgetOptions& options);

// A cache of windows of its own exists only beside one of full layers.
[[nodiscard]] bool llamacpp_window_cache(const ModelSpec& model);

// Tokens of a micro batch whose logits are computed at once.
[[nodiscard]] std::int64_t llamacpp_output_rows(const ModelSpec& model,
                                                const LlamacppBudgetOptions& options);

// What the host prepares for the device: embeddings of the micro batch and a mask for each cache.
// To the MiB as in logs of four models (b7896 to b9010), of builds of 2024 and of June 2026.
[[nodiscard]] ByteCount llamacpp_host_inputs(const ModelSpec& model,
                                             const LlamacppBudgetOptions& options,
                                             std::int64_t input_copies = 1);

// Devices that share the layers, all of them, work on up to four micro batches at once
// (src/llama-context.cpp: pipeline_parallel; GGML_SCHED_MAX_COPIES).
[[nodiscard]] std::int64_t llamacpp_input_copies(std::int64_t devices, bool all_on_devices,
                                                 const LlamacppBudgetOptions& options);

// An image on its way through one layer of the projector's tower: the MLP's wide product and three
// hidden vectors of each patch in fp32; on the host its pixels (tools/mtmd/clip.cpp: warmup). Logs
// of SmolVLM (21.00 and 3.00 MiB), Gemma 3 (121.25 and 9.19) and Nemotron 3 Omni. Towers of images
// of any size: not counted.
struct LlamacppProjector {
  ByteCount device = 0;
  ByteCount host = 0;
};
[[nodiscard]] LlamacppProjector llamacpp_projector(const ModelSpec& model);

}  // namespace headroom
