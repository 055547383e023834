#pragma once
// LoRA adapters as vLLM keeps them: beside every matrix of `in` inputs and `out` outputs A (rank x
// in) and B (out x rank), set aside for max_loras adapters of max_lora_rank before the KV pool
// (vllm/lora/layers: create_lora_weights, v0.19). Matrices that vLLM fuses (query, key and value;
// gate and up) have an A and a B for each of their parts.
//
// Under tensor parallelism B of a matrix that is split by outputs and A of one split by inputs are
// split, the others are copied to every rank; `fully_sharded` splits the others too, A by rank.
// Dense layers of plain attention only.

#include <cstdint>

#include "hardware/llm/model_spec.hpp"

namespace headroom {

// vLLM keeps no LoRA of a larger output head (LogitsProcessorWithLoRA).
inline constexpr std::int64_t kLargestLoraVocab = 258'048;

struct LoraShape {
  std::int64_t rank = 16;
  bool fully_sharded = false;
};

// Of one adapter; elements of lora_element_bytes each.
struct LoraSize {
  std::int64_t elements = 0;        // of the layers' matrices, before sharding: what a file holds
  std::int64_t rank_elements = 0;   // of the layers' matrices, on one tensor rank of the stage
  std::int64_t table_elements = 0;  // for the embedding and the output head, on such a rank
  std::int64_t modules = 0;         // (fused) matrices, each with kernels of its own
  std::int64_t matrices = 0;        // A and B apart

  // What a slot takes: the tables are set aside whether an adapter has them or not.
  [[nodiscard]] std::int64_t slot_elements() const { return rank_elements + table_elements; }
};

// ConfigError: a model whose layers it does not know.
[[nodiscard]] LoraSize lora_size(const ModelSpec& model, const Sharding& sharding,
                                 std::int64_t stage, const LoraShape& shape);
// lora_dtype = auto: the model's.
[[nodiscard]] ByteCount lora_element_bytes(const ModelSpec& model);

}  // namespace headroom
