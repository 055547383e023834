#pragma once
// Parameters and bytes of a model by part: of the whole checkpoint, or of what one rank loads.

#include <array>
#include <cstdint>

#include "hardware/llm/model_part.hpp"
#include "hardware/llm/model_spec.hpp"

namespace headroom {

struct ModelParts {
  std::array<std::int64_t, kModelPartCount> params{};
  PartBytes bytes{};

  [[nodiscard]] std::int64_t params_of(ModelPart part) const {
    return params[static_cast<std::size_t>(part)];
  }
  [[nodiscard]] ByteCount bytes_of(ModelPart part) const {
    return bytes[static_cast<std::size_t>(part)];
  }
  [[nodiscard]] std::int64_t params_total() const;
  [[nodiscard]] ByteCount bytes_total() const;
};

// Whether the model has at most 10^15 parameters, so that all counts fit in 63 bits. In floating
// point, so any sizes may be asked about.
[[nodiscard]] bool is_countable(const ModelSpec& model);

// The checkpoint as shipped, without what no engine loads.
[[nodiscard]] ModelParts model_parts(const ModelSpec& model);

// What one tensor rank of a pipeline stage loads: heads, MLP columns and vocabulary (padded to a
// multiple of 64, vLLM) divided, KV heads at least one, MLA down-projections, routers and norms
// replicated. The vision tower is divided, too (vLLM; Kimi-VL logs 15.53 GiB at two ranks). The
// embedding is on the first stage, the head on the last.
[[nodiscard]] ModelParts rank_parts(const ModelSpec& model, const Sharding& sharding,
                                    std::int64_t stage = 0);

[[nodiscard]] std::int64_t params_total(const ModelSpec& model);
[[nodiscard]] std::int64_t params_active(const ModelSpec& model);  // per token: top_k of experts
[[nodiscard]] ByteCount checkpoint_bytes(const ModelSpec& model);  // as shipped, all of it
// Of the rank that loads most.
[[nodiscard]] ByteCount rank_weight_bytes(const ModelSpec& model, const Sharding& sharding);
// Weights that one decode step of a large batch reads: all but the input tables and the vision
// tower. With tied embeddings the table is read once as output head.
[[nodiscard]] ByteCount decode_weight_bytes(const ModelSpec& model, const Sharding& sharding);

[[nodiscard]] std::int64_t query_heads_per_rank(const AttentionSpec& a, std::int64_t tp);
[[nodiscard]] std::int64_t kv_heads_per_rank(const AttentionSpec& a, std::int64_t tp);

}  // namespace headroom
