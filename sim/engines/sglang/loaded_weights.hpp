#pragma once
// What SGLang keeps of a model on one rank: the checkpoint's share, and what its loaders copy or do
// not divide.

#include "hardware/budget/budget.hpp"
#include "sim/engines/sglang/defaults.hpp"

namespace headroom {

// Bytes of one rank of `stage`. Beside its share of the checkpoint:
// - MoonViT and Llama 4's tower are whole on every rank (models/kimi_vl_moonvit.py and kimi_k25.py:
//   nn.Linear; models/mllama4.py takes the tower of Transformers).
// - Latent attention keeps the up-projections a second time, transposed for its absorbed form
//   (models/deepseek_v2.py: w_kc and w_vc beside kv_b_proj).
// - With attention by data ranks the embedding is whole on every rank, and the head is divided over
//   all of them (models/deepseek_v2.py: enable_tp).
// - The table of Gemma 3 and 4, which is their head too, is whole on every rank
//   (models/gemma3_causal.py, gemma4_causal.py: a scaled nn.Embedding).
// - Experts in MXFP4 inside an FP8 checkpoint (DeepSeek V4) load fp32 scales, which 0.5.12 to
//   0.5.16 keep beside Marlin's own (pull request 29797: 11.48 GB per device of 16).
// - Experts in NVFP4 on devices of sm 120 leave a hole per layer, as large as the block scales of
//   their second matrices, when these are swizzled (0.5.7 and 0.5.8: layers/quantization/
//   modelopt_quant.py, ModelOptNvFp4FusedMoEMethod; derived from the order of allocations).
// - Qwen3's models with experts remember the parameters that they loaded (models/qwen3_moe.py:
//   _cached_params_dict, 0.5.3 to 0.5.9). So matrices stay that kernels want in another order:
//   those of AWQ and GPTQ (Marlin), and 16-bit experts on AMD devices (AITER; pull request 18255
//   logs 110.98 GB for Qwen3-30B-A3B).
// - Ministral 3 (Devstral Small 2) builds its layers twice: Ministral3Model.__init__ replaces those
//   that LlamaModel.__init__ has made (models/ministral3.py, 0.5.7 to 0.5.23). Weights and their
//   loaders refer to each other, so the first set stays until Python collects cycles, which it does
//   before it captures graphs: after the pool is sized. A log of 0.5.12 has 4.9 GiB more free at
//   the end than behind its pool.
// - Rotary tables, which no checkpoint holds (below).
[[nodiscard]] ByteCount sglang_loaded_weight_bytes(const BudgetInputs& inputs, std::int64_t stage,
                                                   SglangRelease release);

// Cosine and sine of every position: one table for each width of heads (layers/rotary_embedding:
// get_rope), in fp32 on NVIDIA devices (RotaryEmbedding; 0.4.9 to 0.5.12). Gemma 4 pads the table
// of its full layers to the whole head (Gemma4RotaryEmbedding); compressed layers of DeepSeek V4
// have a table of their own (layers/deepseek_v4_rope.py). Models with recurrent layers turn
// an unknown part of a head, which is small: not counted.
[[nodiscard]] ByteCount sglang_rotary_bytes(const ModelSpec& model, const DeviceSpec& device);

}  // namespace headroom
