#pragma once
// What the weights of a model belong to.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/serving/types.hpp"

namespace headroom {

enum class ModelPart : std::uint8_t {
  embedding,       // input tables (tokens, learned positions): a decode step reads a row
  lm_head,         // 0 when tied to the embedding
  attention,       // matrices
  recurrent,       // matrices and convolutions
  dense_mlp,       // matrices
  shared_experts,  // matrices
  experts,         // matrices of all routed experts
  router,
  expert_bias,
  small,  // norms, other biases, sinks
  vision
};
inline constexpr std::size_t kModelPartCount = 11;
[[nodiscard]] std::string_view name_of(ModelPart part);

using PartBytes = std::array<ByteCount, kModelPartCount>;  // by ModelPart

}  // namespace headroom
