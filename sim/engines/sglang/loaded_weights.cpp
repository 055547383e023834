#include "sim/engines/sglang/loaded_weights.hpp"

#include <algorithm>
#include <set>
#include <utility>

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

bool swizzles_scales(const BudgetInputs& inputs, SglangRelease release) {
  constexpr SglangRelease kFirst{0, 5, 7};
  constexpr SglangRelease kLast{0, 5, 9};
  const bool by_cutlass = inputs.device.vendor == "nvidia" && inputs.device.sm >= 120;
  return by_cutlass && release >= kFirst && release <= kLast;
}

// Holes of PyTorch's allocator: the scales of an expert layer's second matrices share a segment
// with the swizzled copy of the layer before, which stays (both are half as large as the scales of
// the first ones, whose padded copy was freed before). From 10 MiB on such tensors have segments of
// their own.
ByteCount swizzled_scale_holes(const BudgetInputs& inputs, std::int64_t stage) {
  constexpr std::int64_t kGroup = 16;
  const Sharding& sharding = inputs.sharding;
  ByteCount bytes = 0;
  const StageLayers layers = stage_layers(inputs.model, sharding, stage);
  for (std::size_t i = layers.first; i < layers.last; ++i) {
    const auto& moe = inputs.model.layer(i).moe;
    if (!moe || !moe->gated || moe->format.dtype != Dtype::nvfp4) continue;
    const std::int64_t experts =
        (moe->experts + sharding.expert_shares() - 1) / sharding.expert_shares();
    const std::int64_t width = moe->latent > 0 ? moe->latent : inputs.model.hidden;
    const ByteCount scales = experts * width * (moe->ffn / sharding.expert_cuts()) / kGroup;
    if (scales >= 10 * kMib) bytes += scales;
  }
  return bytes;
}

bool builds_layers_twice(const ModelSpec& model, SglangRelease release) {
  constexpr SglangRelease kFirst{0, 5, 7};
  return release >= kFirst && (model.architecture == "Ministral3ForCausalLM" ||
                               model.text_architecture == "Ministral3ForCausalLM");
}

// Whether the loaded matrices stay beside those that the kernels want.
struct KeptMatrices {
  bool experts = false;
  bool attention = false;
};

KeptMatrices kept_matrices(const BudgetInputs& inputs, SglangRelease release) {
  constexpr SglangRelease kFirst{0, 5, 3};
  constexpr SglangRelease kLast{0, 5, 9};
  const ModelSpec& model = inputs.model;
  const bool keeps = model.architecture == "Qwen3MoeForCausalLM" ||
                     model.text_architecture == "Qwen3MoeForCausalLM";
  if (!keeps || release < kFirst || release > kLast) return {};
  const bool repacked = model.quantization_method == "awq" || model.quantization_method == "gptq";
  if (inputs.device.vendor == "nvidia") return {.experts = repacked, .attention = repacked};
  const bool shuffled = model.quantization_method.empty() && main_dtype(model) == model.dtype;
  return {.experts = inputs.device.vendor == "amd" && shuffled};
}

ByteCount kept_matrix_bytes(const BudgetInputs& inputs, const ModelParts& parts,
                            SglangRelease release) {
  const KeptMatrices kept = kept_matrices(inputs, release);
  return (kept.experts ? parts.bytes_of(ModelPart::experts) : 0) +
         (kept.attention ? parts.bytes_of(ModelPart::attention) : 0);
}

ByteCount layer_bytes(const ModelParts& parts) {
  return parts.bytes_total() - parts.bytes_of(ModelPart::embedding) -
         parts.bytes_of(ModelPart::lm_head) - parts.bytes_of(ModelPart::vision);
}

}  // namespace

ByteCount sglang_rotary_bytes(const ModelSpec& model, const DeviceSpec& device) {
  if (model.position_rows > 0 || has_states(model)) return 0;
  std::set<std::pair<std::int64_t, bool>> tables;
  for (const LayerKind& kind : model.kinds) {
    if (!kind.attention) continue;
    const AttentionSpec& a = *kind.attention;
    const std::int64_t turned = a.rotary_dim > 0 ? a.rotary_dim : a.head_dim;
    tables.emplace(a.mla ? a.mla->qk_rope : turned, a.compress_ratio > 1);
  }
  const std::int64_t rows = model.rotary_rows > 0 ? model.rotary_rows : model.max_position;
  const ByteCount element = device.vendor == "nvidia" ? 4 : activation_bytes(model.dtype);
  ByteCount bytes = 0;
  for (const auto& [width, compressed] : tables) bytes += rows * width * element;
  return bytes;
}

ByteCount sglang_loaded_weight_bytes(const BudgetInputs& inputs, std::int64_t stage,
                                     SglangRelease release) {
  const Sharding& sharding = inputs.sharding;
  const ModelParts parts = rank_parts(inputs.model, sharding, stage);
  ByteCount bytes = parts.bytes_total() + absorbed_bytes(inputs.model, sharding, stage) +
                    undivided_tower_bytes(inputs.model, parts, sharding) +
                    table_bytes(inputs.model, parts, sharding) +
                    sglang_rotary_bytes(inputs.model, inputs.device);
  if (builds_layers_twice(inputs.model, release)) bytes += layer_bytes(parts);
  bytes += kept_matrix_bytes(inputs, parts, release);
  if (keeps_loader_scales(inputs, release)) bytes += loader_scale_bytes(inputs, stage);
  if (swizzles_scales(inputs, release)) bytes += swizzled_scale_holes(inputs, stage);
  return bytes;
}

}  // namespace headroom
