#include "sim/engines/sglang/loaded_weights.hpp"

#include <algorithm>

#include "hardware/llm/parameters.hpp"

namespace headroom {
namespace {

ByteCount undivided_tower_bytes(const ModelSpec& model, const ModelParts& parts,
                                const Sharding& sharding) {
  using Family = VisionSpec::Family;
  if (!model.vision) return 0;
  const Family family = model.vision->family;
  if (family != Family::moonvit && family != Family::llama4) return 0;
  return parts.bytes_of(ModelPart::vision) * (sharding.tensor - 1);
}

ByteCount absorbed_bytes(const ModelSpec& model, const Sharding& sharding, std::int64_t stage) {
  ByteCount bytes = 0;
  const StageLayers layers = stage_layers(model, sharding, stage);
  for (std::size_t i = layers.first; i < layers.last; ++i) {
    const auto& attention = model.layer(i).attention;
    if (!attention || !attention->mla) continue;
    const MlaSpec& mla = *attention->mla;
    const std::int64_t elements = mla.kv_lora_rank * (mla.qk_nope + mla.v_head) *
                                  query_heads_per_rank(*attention, sharding.tensor);
    // Formats of fewer bits are expanded first.
    const bool in_8_bits = attention->format.dtype == Dtype::fp8;
    bytes += elements * (in_8_bits ? 1 : activation_bytes(model.dtype));
  }
  return bytes;
}

bool keeps_table_whole(const ModelSpec& model) {
  return model.architecture.starts_with("Gemma3For") || model.architecture.starts_with("Gemma4For");
}

// Beside the share of a tensor rank; negative where the head is cut into more pieces.
ByteCount table_bytes(const ModelSpec& model, const ModelParts& parts, const Sharding& sharding) {
  if (keeps_table_whole(model)) {
    return parts.bytes_of(ModelPart::embedding) * (sharding.tensor - 1);
  }
  if (sharding.data == 1) return 0;
  const ByteCount head = parts.bytes_of(ModelPart::lm_head);
  return parts.bytes_of(ModelPart::embedding) * (sharding.tensor - 1) - head + head / sharding.data;
}

bool keeps_loader_scales(const BudgetInputs& inputs, SglangRelease release) {
  constexpr SglangRelease kFirst{0, 5, 12};
  constexpr SglangRelease kLast{0, 5, 16};
  // Marlin runs where there are no products of 4 bits (server_args.py: moe_runner_backend).
  const bool by_marlin = inputs.device.vendor == "nvidia" && inputs.device.sm == 90;
  return by_marlin && release >= kFirst && release <= kLast &&
         inputs.model.quantization_method == "fp8";
}

ByteCount loader_scale_bytes(const BudgetInputs& inputs, std::int64_t stage) {
  constexpr std::int64_t kGroup = 32;
  constexpr std::int64_t kScaleBytes = 4;
  const bool has_4_bits = std::ranges::any_of(inputs.model.kinds, [](const LayerKind& kind) {
    return kind.moe && kind.moe->format.dtype == Dtype::mxfp4;
  });
  if (!has_4_bits) return 0;
  const ModelParts parts = rank_parts(inputs.model, inputs.sharding, stage);
  return parts.params_of(ModelPart::experts) / kGroup * kScaleBytes;
}

}  // namespace

ByteCount sglang_loaded_weight_bytes(const BudgetInputs& inputs, std::int64_t stage,
                                     SglangRelease release) {
  const Sharding& sharding = inputs.sharding;
  const ModelParts parts = rank_parts(inputs.model, sharding, stage);
  ByteCount bytes = parts.bytes_total() + absorbed_bytes(inputs.model, sharding, stage) +
                    undivided_tower_bytes(inputs.model, parts, sharding) +
                    table_bytes(inputs.model, parts, sharding);
  if (keeps_loader_scales(inputs, release)) bytes += loader_scale_bytes(inputs, stage);
  return bytes;
}

}  // namespace headroom
