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
[[nodiscard]] ByteCount sglang_loaded_weight_bytes(const BudgetInputs& inputs, std::int64_t stage,
                                                   SglangRelease release);

}  // namespace headroom
