#include "hardware/llm/gguf_mixture.hpp"

#include <algorithm>

namespace headroom {
namespace {

// Bytes of a block of 256 elements; rows of other lengths have blocks of 32 of the older types.
struct GgufBlocks {
  std::int64_t long_bytes;
  std::int64_t short_bytes;
};
constexpr GgufBlocks kQ4{144, 22};  // q4_k, else q5_0
constexpr GgufBlocks kQ5{176, 24};  // q5_k, else q5_1
constexpr GgufBlocks kQ6{210, 34};  // q6_k, else q8_0
constexpr GgufBlocks kQ8{272, 34};  // q8_0
constexpr GgufBlocks kQ40{144, 18};
constexpr std::int64_t kFloat = 4;

ByteCount matrix_bytes(GgufBlocks blocks, std::int64_t row, std::int64_t rows) {
  constexpr std::int64_t kLong = 256;
  constexpr std::int64_t kShort = 32;
  if (row % kLong == 0) return row / kLong * rows * blocks.long_bytes;
  return row * rows / kShort * blocks.short_bytes;
}

// The first and the last eighth of the layers and a third of the others (use_more_bits).
bool more_bits(std::int64_t layer, std::int64_t layers) {
  return layer < layers / 8 || layer >= 7 * layers / 8 || (layer - layers / 8) % 3 == 2;
}

class GgufMixture {
 public:
  GgufMixture(const ModelSpec& model, Dtype dtype)
      : model_(model),
        mixes_(dtype != Dtype::q4_0),
        base_(!mixes_                  ? kQ40
              : dtype == Dtype::q4_k_m ? kQ4
                                       : kQ5) {}

  StoredWeights stored() {
    StoredWeights weights;
    const auto set = [&](ModelPart part, ByteCount bytes) {
      weights.outside[static_cast<std::size_t>(part)] = bytes;
    };
    set(ModelPart::embedding,
        matrix_bytes(model_.tie_embeddings ? kQ6 : base_, model_.hidden, model_.vocab));
    if (!model_.tie_embeddings)
      set(ModelPart::lm_head, matrix_bytes(kQ6, model_.hidden, model_.vocab));
    set(ModelPart::small, model_.hidden * kFloat * (model_.layer_norm ? 2 : 1));
    for (std::size_t i = 0; i < model_.order.size(); ++i) weights.layers.push_back(layer(i));
    return weights;
  }

 private:
  PartBytes layer(std::size_t index) {
    const LayerKind& kind = model_.layer(index);
    const bool more = mixes_ && more_bits(static_cast<std::int64_t>(index), model_.layers());
    const GgufBlocks back = more ? kQ6 : base_;
    PartBytes bytes{};
    const auto add = [&](ModelPart part, ByteCount more_bytes) {
      bytes[static_cast<std::size_t>(part)] += more_bytes;
    };
    const std::int64_t h = model_.hidden;
    add(ModelPart::small, kind.norms * h * kFloat * (model_.layer_norm ? 2 : 1));
    if (kind.attention) {
      const AttentionSpec& a = *kind.attention;
      add(ModelPart::attention, attention(a, more, kind.moe ? kind.moe->experts : 0));
      if (a.qkv_bias) {
        const std::int64_t rows = (a.q_heads + a.kv_heads) * a.head_dim + a.kv_heads * a.v_head_dim;
        add(ModelPart::small, rows * kFloat);
      }
      if (a.qk_norm) add(ModelPart::small, 2 * a.head_dim * kFloat);
      if (a.o_bias) add(ModelPart::small, h * kFloat);
    }
    if (kind.mlp) {
      const std::int64_t in = kind.mlp->gated ? 2 : 1;
      add(ModelPart::dense_mlp,
          in * matrix_bytes(base_, h, kind.mlp->ffn) + matrix_bytes(back, kind.mlp->ffn, h));
    }
    if (kind.moe) {
      const MoeSpec& moe = *kind.moe;
      const std::int64_t in = moe.gated ? 2 : 1;
      add(ModelPart::experts,
          moe.experts * (in * matrix_bytes(base_, h, moe.ffn) + matrix_bytes(back, moe.ffn, h)));
      if (moe.shared_ffn > 0) {
        add(ModelPart::shared_experts,
            in * matrix_bytes(base_, h, moe.shared_ffn) + matrix_bytes(back, moe.shared_ffn, h));
      }
      add(ModelPart::router, h * moe.experts * kFloat + (moe.shared_gate ? h * kFloat : 0));
    }
    return bytes;
  }

  [[nodiscard]] ByteCount attention(const AttentionSpec& a, bool more, std::int64_t experts) const {
    constexpr std::int64_t kMixtral = 8;    // experts that share attention: keys and values in q8_0
    constexpr std::int64_t kSeventyB = 80;  // Llama's layers of 70B: values in q5_k at least
    const std::int64_t h = model_.hidden;
    GgufBlocks value = more ? kQ6 : base_;
    if (mixes_ && model_.layers() == kSeventyB && !more) value = kQ5;
    const bool mixtral = experts == kMixtral;
    if (mixtral) value = kQ8;
    const std::int64_t query = a.q_heads * a.head_dim * (a.output_gate ? 2 : 1);
    ByteCount bytes = matrix_bytes(base_, h, query);
    if (!a.shares_kv) {
      bytes += matrix_bytes(mixtral ? kQ8 : base_, h, a.kv_heads * a.head_dim);
      if (!a.value_is_key) bytes += matrix_bytes(value, h, a.kv_heads * a.v_head_dim);
    }
    return bytes + matrix_bytes(mixtral ? kQ5 : base_, a.q_heads * a.v_head_dim, h);
  }

  const ModelSpec& model_;
  bool mixes_;
  GgufBlocks base_;
};

}  // namespace

std::optional<StoredWeights> gguf_mixture(const ModelSpec& model, Dtype dtype) {
  if (dtype != Dtype::q4_0 && dtype != Dtype::q4_k_m && dtype != Dtype::q5_k_m) {
    return std::nullopt;
  }
  if (model.extra_embedding_params > 0 || model.embedding_width > 0 || model.position_rows > 0) {
    return std::nullopt;
  }
  const bool plain = std::ranges::all_of(model.kinds, [](const LayerKind& kind) {
    return kind.attention && !kind.attention->mla && kind.attention->q_lora_rank == 0 &&
           !kind.recurrent && kind.extra_params == 0 && (!kind.moe || kind.moe->latent == 0);
  });
  if (!plain) return std::nullopt;
  return GgufMixture(model, dtype).stored();
}

}  // namespace headroom
