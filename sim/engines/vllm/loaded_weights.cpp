// What vLLM loads beside the checkpoint's own bytes: rotary tables, what its allocator rounds up,
// and padding of expert matrices.

#include <algorithm>

#include "hardware/llm/parameters.hpp"
#include "sim/engines/vllm/budget.hpp"
#include "sim/engines/vllm/compressed_layout.hpp"

namespace headroom {
namespace {

// Of DeepSeek V4, in fp32: compressed layers turn heads by another base than the others
// (models/deepseek_v4/nvidia/model.py; rotary_embedding/deepseek_scaling_rope.py, 0.22.0).
ByteCount compressed_table_bytes(const ModelSpec& model) {
  std::int64_t width = 0;
  for (const LayerKind& kind : model.kinds) {
    if (kind.attention) width = std::max(width, kind.attention->rotary_dim);
  }
  return 2 * model.max_position * width * 4;
}

// Cosine and sine of every position, which the checkpoint does not hold.
ByteCount rotary_table_bytes(const ModelSpec& model) {
  if (model.position_rows > 0) return 0;
  if (keeps_compressed(model)) return compressed_table_bytes(model);
  std::int64_t width = 0;
  for (const LayerKind& kind : model.kinds) {
    if (!kind.attention) continue;
    const AttentionSpec& a = *kind.attention;
    width = std::max(width, a.mla ? a.mla->qk_rope : a.head_dim);
  }
  const std::int64_t rows = model.rotary_rows > 0 ? model.rotary_rows : model.max_position;
  return rows * width * activation_bytes(model.dtype);
}

// PyTorch gives a tensor of 10 MiB or more a segment of whole 2 MiB and counts all of it as
// allocated when at most 1 MiB of it is left over (CUDACachingAllocator: kMinLargeAlloc,
// kRoundLarge, should_split). 0 to 0.1 GiB; closes Qwen2.5, Kimi-Dev-72B and Gemma-2 to 0.01 GiB.
ByteCount rounding_of(ByteCount bytes) {
  if (bytes < 10 * kMib) return 0;
  const ByteCount rest = (2 * kMib - bytes % (2 * kMib)) % (2 * kMib);
  return rest <= kMib ? rest : 0;
}

// The matrices of a layer as vLLM fuses them: query, key and value; gate and up; all experts.
ByteCount layer_rounding(const ModelSpec& model, const LayerKind& kind, const Sharding& sharding) {
  const std::int64_t tp = sharding.tensor;
  const std::int64_t h = model.hidden;
  ByteCount sum = 0;
  if (kind.attention && !kind.attention->mla) {
    const AttentionSpec& a = *kind.attention;
    const std::int64_t q = query_heads_per_rank(a, tp);
    const std::int64_t kv = a.shares_kv ? 0 : kv_heads_per_rank(a, tp);
    const std::int64_t fused =
        q * a.head_dim * (a.output_gate ? 2 : 1) + kv * (a.head_dim + a.v_head_dim);
    sum += rounding_of(stored_bytes(a.format, h * fused)) +
           rounding_of(stored_bytes(a.format, h * q * a.v_head_dim));
  }
  if (kind.mlp) {
    const std::int64_t ffn = kind.mlp->ffn / tp;
    sum += rounding_of(stored_bytes(kind.mlp->format, h * ffn * (kind.mlp->gated ? 2 : 1))) +
           rounding_of(stored_bytes(kind.mlp->format, h * ffn));
  }
  if (kind.moe) {
    const MoeSpec& moe = *kind.moe;
    const std::int64_t shares = sharding.expert_shares();
    const std::int64_t experts = (moe.experts + shares - 1) / shares;
    const std::int64_t ffn = moe.ffn / sharding.expert_cuts();
    const std::int64_t elements = experts * ffn * (moe.latent > 0 ? moe.latent : h);
    sum += rounding_of(stored_bytes(moe.format, elements * (moe.gated ? 2 : 1))) +
           rounding_of(stored_bytes(moe.format, elements));
  }
  return sum;
}

ByteCount torch_rounding_bytes(const ModelSpec& model, const Sharding& sharding,
                               std::int64_t stage) {
  std::vector<ByteCount> of_kind;
  of_kind.reserve(model.kinds.size());
  for (const LayerKind& kind : model.kinds) {
    of_kind.push_back(layer_rounding(model, kind, sharding));
  }
  const StageLayers layers = stage_layers(model, sharding, stage);
  ByteCount sum = 0;
  for (std::size_t i = layers.first; i < layers.last; ++i) sum += of_kind[model.order[i]];
  return sum;
}

// The up-projections of quantised latent attention, expanded to the model's type for the absorbed
// form; 16-bit ones are used in place (v1/attention/backends/mla/common.py: W_UV and W_UK_T).
ByteCount absorbed_copy_bytes(const ModelSpec& model, const Sharding& sharding,
                              std::int64_t stage) {
  ByteCount bytes = 0;
  const StageLayers layers = stage_layers(model, sharding, stage);
  for (std::size_t i = layers.first; i < layers.last; ++i) {
    const auto& attention = model.layer(i).attention;
    if (!attention || !attention->mla || !is_quantised(attention->format.dtype)) continue;
    const MlaSpec& mla = *attention->mla;
    bytes += mla.kv_lora_rank * (mla.qk_nope + mla.v_head) *
             query_heads_per_rank(*attention, sharding.tensor) * activation_bytes(model.dtype);
  }
  return bytes;
}

}  // namespace

ByteCount vllm_loaded_weight_bytes(const ModelSpec& model, const Sharding& sharding,
                                   std::int64_t stage) {
  return rank_parts(model, sharding, stage).bytes_total() + rotary_table_bytes(model) +
         torch_rounding_bytes(model, sharding, stage) + absorbed_copy_bytes(model, sharding, stage);
}

// model_executor/models/qwen3_vl.py, 0.11.0 to 0.29.0: deepstack_input_embeds on the first stage.
// models/deepseek_v4/nvidia/model.py, 0.22.0 to 0.25.1: _mtp_hidden_buffer on the last one, whether
// there is a drafter or not.
ByteCount vllm_model_buffer_bytes(const ModelSpec& model, const Sharding& sharding,
                                  std::int64_t stage, const VllmBudgetOptions& options) {
  std::int64_t states = 0;
  if (model.vision && stage == 0) states += model.vision->deepstack_levels;
  if (keeps_compressed(model) && stage + 1 == sharding.pipeline) {
    std::int64_t streams = 1;
    for (const LayerKind& kind : model.kinds) streams = std::max(streams, kind.residual_streams);
    states += streams;
  }
  return states * options.max_num_batched_tokens * model.hidden * activation_bytes(model.dtype);
}

// vllm/model_executor/layers/quantization/mxfp4.py: Mxfp4MoEMethod.create_weights.
ByteCount vllm_expert_padding_bytes(const ModelSpec& model, const DeviceSpec& device,
                                    const Sharding& sharding, std::int64_t stage,
                                    const VllmBudgetOptions& options) {
  const bool hopper = device.sm == 90;
  const bool datacenter_blackwell = device.sm == 100 || device.sm == 103;
  const bool marlin = options.marlin_experts || !(hopper || datacenter_blackwell);
  std::int64_t to_ffn = 256;
  std::int64_t to_hidden = 256;
  if (device.vendor == "nvidia" && marlin) to_ffn = 128;
  if (hopper && !marlin) {
    to_ffn = 64;
    to_hidden = 1;
  }
  const auto rounded = [](std::int64_t size, std::int64_t to) { return (size + to - 1) / to * to; };
  ByteCount bytes = 0;
  for (const LayerKind& kind : model.kinds) {
    if (!kind.moe || kind.moe->format.dtype != Dtype::mxfp4) continue;
    const std::int64_t ffn = kind.moe->ffn / sharding.expert_cuts();
    const double share = static_cast<double>(rounded(ffn, to_ffn)) / static_cast<double>(ffn) *
                         static_cast<double>(rounded(model.hidden, to_hidden)) /
                         static_cast<double>(model.hidden);
    const auto experts =
        static_cast<double>(rank_parts(model, sharding, stage).bytes_of(ModelPart::experts));
    bytes = std::max(bytes, static_cast<ByteCount>(experts * (share - 1)));
  }
  return bytes;
}

}  // namespace headroom
