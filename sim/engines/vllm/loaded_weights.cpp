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

enum class Mxfp4Kernel : std::uint8_t { marlin, triton, flashinfer };

// model_executor/layers/quantization/mxfp4.py, get_mxfp4_backend; fused_moe/oracle/mxfp4.py from
// 0.20 on. gpt-oss on Hopper takes Triton's kernels where they are installed: 0.12.0 is the first
// wheel that brings them (vllm/third_party/triton_kernels; not in 0.10.1.1 to 0.11.2), so before it
// Marlin. Other models never do (_get_priority_backends).
constexpr EngineVersion kBringsTriton{0, 12};
constexpr EngineVersion kFreesScales{0, 25};  // not in 0.24.0, in 0.25.1

Mxfp4Kernel mxfp4_kernel(const ModelSpec& model, const DeviceSpec& device,
                         const VllmBudgetOptions& options) {
  const bool hopper = device.sm == 90;
  const bool gpt_oss = model.architecture == "GptOssForCausalLM";
  const bool datacenter_blackwell = device.sm == 100 || device.sm == 103;
  if (options.marlin_experts) return Mxfp4Kernel::marlin;
  if (datacenter_blackwell || device.vendor != "nvidia") return Mxfp4Kernel::flashinfer;
  const bool triton = hopper && gpt_oss && options.version >= kBringsTriton;
  return triton ? Mxfp4Kernel::triton : Mxfp4Kernel::marlin;
}

std::int64_t rounded_up(std::int64_t size, std::int64_t to) { return (size + to - 1) / to * to; }

// Mxfp4MoEMethod.create_weights, mxfp4_round_up_hidden_size_and_intermediate_size.
struct Mxfp4Rounding {
  std::int64_t ffn = 0;
  std::int64_t hidden = 0;
};

Mxfp4Rounding mxfp4_rounding(Mxfp4Kernel kernel, const DeviceSpec& device, EngineVersion version) {
  constexpr EngineVersion kNarrowerFlashinfer{0, 27};  // 0.26.0: 256
  switch (kernel) {
    case Mxfp4Kernel::marlin: return {128, 256};
    case Mxfp4Kernel::triton: return {64, 1};
    case Mxfp4Kernel::flashinfer:
      return {device.vendor == "nvidia" && version >= kNarrowerFlashinfer ? 128 : 256, 256};
  }
  return {1, 1};
}

// What Triton's kernels keep of one layer beside the checkpoint's bytes: scales in an order of
// their own, whose rows are filled up to 256 (process_weights_after_loading with eight warps;
// triton_kernels/tensor_details/layout_details/hopper_scale.py, HopperMXScaleLayout), while the
// layer still holds the loaded ones, which are deleted from kFreesScales on; and biases in fp32.
ByteCount triton_layer_bytes(std::int64_t hidden, const MoeSpec& moe, const Sharding& sharding,
                             EngineVersion version) {
  constexpr std::int64_t kBlock = 32;  // elements of a scale, one byte
  constexpr std::int64_t kRows = 256;
  const std::int64_t shares = sharding.expert_shares();
  const std::int64_t experts = (moe.experts + shares - 1) / shares;
  const std::int64_t ffn = rounded_up(moe.ffn / sharding.expert_cuts(), 64);
  const std::int64_t rows = (moe.gated ? 2 : 1) * ffn;
  const std::int64_t loaded = (rows * hidden + hidden * ffn) / kBlock;
  const std::int64_t ordered =
      (rounded_up(rows, kRows) * hidden + rounded_up(hidden, kRows) * ffn) / kBlock;
  const std::int64_t scales = ordered - (version >= kFreesScales ? loaded : 0);
  const std::int64_t wider_biases = moe.expert_bias ? 2 * (rows + hidden) : 0;
  return experts * (scales + wider_biases);
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

// Experts in mxfp4: the checkpoint's share once padded, and what the kernel keeps beside it.
ByteCount vllm_expert_padding_bytes(const ModelSpec& model, const DeviceSpec& device,
                                    const Sharding& sharding, std::int64_t stage,
                                    const VllmBudgetOptions& options) {
  const Mxfp4Kernel kernel = mxfp4_kernel(model, device, options);
  const Mxfp4Rounding to = mxfp4_rounding(kernel, device, options.version);
  ByteCount bytes = 0;
  for (const LayerKind& kind : model.kinds) {
    if (!kind.moe || kind.moe->format.dtype != Dtype::mxfp4) continue;
    const std::int64_t ffn = kind.moe->ffn / sharding.expert_cuts();
    const double share = static_cast<double>(rounded_up(ffn, to.ffn)) / static_cast<double>(ffn) *
                         static_cast<double>(rounded_up(model.hidden, to.hidden)) /
                         static_cast<double>(model.hidden);
    const auto experts =
        static_cast<double>(rank_parts(model, sharding, stage).bytes_of(ModelPart::experts));
    bytes = std::max(bytes, static_cast<ByteCount>(experts * (share - 1)));
  }
  if (kernel != Mxfp4Kernel::triton) return bytes;
  const StageLayers layers = stage_layers(model, sharding, stage);
  for (std::size_t i = layers.first; i < layers.last; ++i) {
    const auto& moe = model.layer(i).moe;
    if (moe && moe->format.dtype == Dtype::mxfp4) {
      bytes += triton_layer_bytes(model.hidden, *moe, sharding, options.version);
    }
  }
  return bytes;
}

}  // namespace headroom
