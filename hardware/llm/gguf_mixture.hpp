#pragma once
// Bytes of the tensors of a file that llama-quantize makes in q4_0, q4_k_m or q5_k_m: most matrices
// have the type of the name, the output has q6_k, and so has with q4_k_m and q5_k_m a part of the
// values and of the way back from the MLP (src/llama-quant.cpp: llama_tensor_get_type). Vectors and
// routers are in 32 bits. Towers are files of their own and keep their format.

#include <optional>

#include "hardware/llm/model_spec.hpp"

namespace headroom {

// Nullopt: another type, or layers whose tensors are not told apart here (latent attention,
// recurrent layers, further matrices), for which the average of the type has to do.
[[nodiscard]] std::optional<StoredWeights> gguf_mixture(const ModelSpec& model, Dtype dtype);

}  // namespace headroom
