#include "hardware/llm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/kernel/check.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/nearest_name.hpp"

namespace headroom {
namespace {

constexpr std::array<std::string_view, 6> kDtypeNames{"fp32", "fp16", "bf16",
                                                      "fp8",  "int8", "mxfp4"};
constexpr std::int64_t kVocabPadding = 64;  // vLLM's vocabulary-parallel embedding

std::int64_t padded_vocab_per_rank(const ModelSpec& m, std::int64_t tp) {
  const std::int64_t padded = (m.vocab + kVocabPadding - 1) / kVocabPadding * kVocabPadding;
  return (padded + tp - 1) / tp;
}

std::int64_t attention_matrices(const ModelSpec& m, std::int64_t q_heads, std::int64_t kv_heads) {
  if (!m.mla) {
    return m.hidden * m.head_dim * (2 * q_heads + 2 * kv_heads);  // q and o, k and v
  }
  const MlaSpec& mla = *m.mla;
  const std::int64_t query = mla.q_lora_rank > 0
                                 ? mla.q_lora_rank * (m.hidden + q_heads * m.head_dim)
                                 : m.hidden * q_heads * m.head_dim;
  const std::int64_t key_value = m.hidden * (mla.kv_lora_rank + mla.qk_rope) +
                                 mla.kv_lora_rank * q_heads * (mla.qk_nope + mla.v_head);
  return query + key_value + q_heads * mla.v_head * m.hidden;
}

// Norms, biases and sinks of one layer, without those of the MLP.
std::int64_t small_of_layer(const ModelSpec& m, std::int64_t q_heads, std::int64_t kv_heads) {
  std::int64_t sum = m.norms_per_layer * m.hidden * (m.layer_norm ? 2 : 1);
  if (m.qkv_bias) sum += (q_heads + 2 * kv_heads) * m.head_dim;
  if (m.o_bias) sum += m.hidden;
  if (m.qk_norm) sum += 2 * m.head_dim;
  if (m.attention_sinks) sum += q_heads;
  if (m.mla) sum += m.mla->q_lora_rank + m.mla->kv_lora_rank;
  return sum;
}

// `vocab`, heads and `tp` as one rank sees them; with tp = 1 and the true vocabulary, the whole
// model.
ParamParts parts_of(const ModelSpec& m, std::int64_t tp, std::int64_t vocab) {
  const std::int64_t q_heads = query_heads_per_rank(m, tp);
  const std::int64_t kv_heads = kv_heads_per_rank(m, tp);
  const std::int64_t mlp_matrices = m.gated_mlp ? 3 : 2;
  const std::int64_t moe_layers = m.moe ? m.layers - m.moe->first_dense_layers : 0;
  const std::int64_t dense_layers = m.layers - moe_layers;

  ParamParts parts;
  parts.embedding = (vocab + m.position_rows) * m.hidden;
  parts.lm_head = m.tie_embeddings ? 0 : vocab * m.hidden;
  parts.attention = m.layers * attention_matrices(m, q_heads, kv_heads);
  parts.dense_mlp = dense_layers * mlp_matrices * m.hidden * m.ffn / tp;
  parts.small = m.layers * small_of_layer(m, q_heads, kv_heads) + m.hidden * (m.layer_norm ? 2 : 1);
  if (m.mlp_bias) {
    parts.small += dense_layers * ((mlp_matrices - 1) * m.ffn / tp + m.hidden);
  }
  if (m.moe) {
    const MoeSpec& moe = *m.moe;
    parts.dense_mlp += moe_layers * mlp_matrices * m.hidden * moe.shared_ffn / tp;
    parts.experts = moe_layers * moe.experts * mlp_matrices * m.hidden * moe.ffn / tp;
    parts.router = moe_layers * (m.hidden * moe.experts + (moe.router_bias ? moe.experts : 0));
    if (moe.expert_bias) {
      parts.expert_bias = moe_layers * moe.experts * ((mlp_matrices - 1) * moe.ffn / tp + m.hidden);
    }
  }
  return parts;
}

}  // namespace

std::string_view name_of(Dtype dtype) { return kDtypeNames[static_cast<std::size_t>(dtype)]; }

Dtype parse_dtype(std::string_view name) {
  for (std::size_t i = 0; i < kDtypeNames.size(); ++i) {
    if (kDtypeNames[i] == name) return static_cast<Dtype>(i);
  }
  // The engines' and PyTorch's own spellings.
  if (name == "float32" || name == "float") return Dtype::fp32;
  if (name == "float16" || name == "half") return Dtype::fp16;
  if (name == "bfloat16") return Dtype::bf16;
  if (name == "fp8_e4m3" || name == "fp8_e5m2" || name == "float8") return Dtype::fp8;
  const std::vector<std::string> names(kDtypeNames.begin(), kDtypeNames.end());
  const std::string nearest = nearest_name(name, names);
  throw ConfigError(fmt::format("data type '{}': one of {}{}", name, comma_list(names),
                                nearest.empty() ? "" : fmt::format(" (nearest: {})", nearest)));
}

std::int64_t bytes_per_element(Dtype dtype) {
  switch (dtype) {
    case Dtype::fp32: return 4;
    case Dtype::fp16:
    case Dtype::bf16: return 2;
    case Dtype::fp8:
    case Dtype::int8: return 1;
    case Dtype::mxfp4: break;
  }
  throw ConfigError(fmt::format("data type {} is for weights only", name_of(dtype)));
}

bool is_quantised(Dtype dtype) {
  return dtype == Dtype::fp8 || dtype == Dtype::int8 || dtype == Dtype::mxfp4;
}

ParamParts param_parts(const ModelSpec& model) { return parts_of(model, 1, model.vocab); }

ParamParts rank_parts(const ModelSpec& model, std::int64_t tp) {
  check_tensor_parallel(model, tp);
  return parts_of(model, tp, padded_vocab_per_rank(model, tp));
}

std::int64_t params_total(const ModelSpec& model) { return param_parts(model).total(); }

std::int64_t params_active(const ModelSpec& model) {
  const ParamParts parts = param_parts(model);
  if (!model.moe) return parts.total();
  const std::int64_t idle = model.moe->experts - model.moe->top_k;
  return parts.total() - (parts.experts + parts.expert_bias) / model.moe->experts * idle;
}

std::int64_t query_heads_per_rank(const ModelSpec& model, std::int64_t tp) {
  return model.q_heads / tp;
}

std::int64_t kv_heads_per_rank(const ModelSpec& model, std::int64_t tp) {
  return std::max<std::int64_t>(1, model.kv_heads / tp);
}

void check_tensor_parallel(const ModelSpec& model, std::int64_t tp) {
  const auto refuse = [&](std::string_view what, std::int64_t value) {
    throw ConfigError(fmt::format("tensor_parallel_size {}: {} of {} is {}, not divisible", tp,
                                  what, model.id, value));
  };
  if (tp < 1) throw ConfigError(fmt::format("tensor_parallel_size {}: at least 1", tp));
  if (model.q_heads % tp != 0) refuse("query heads", model.q_heads);
  if (!model.mla && model.kv_heads % tp != 0 && tp % model.kv_heads != 0) {
    refuse("KV heads", model.kv_heads);
  }
  if (model.ffn % tp != 0) refuse("MLP width", model.ffn);
  if (model.moe && model.moe->ffn % tp != 0) refuse("expert width", model.moe->ffn);
  if (model.moe && model.moe->shared_ffn % tp != 0) refuse("shared width", model.moe->shared_ffn);
}

ByteCount stored_bytes(const ParamParts& parts, Dtype dtype) {
  const std::int64_t base = dtype == Dtype::fp32 ? 4 : 2;
  std::int64_t kept = parts.total();
  ByteCount quantised_bytes = 0;
  if (dtype == Dtype::fp8 || dtype == Dtype::int8) {
    quantised_bytes = parts.attention + parts.dense_mlp + parts.experts;
    kept -= quantised_bytes;
  } else if (dtype == Dtype::mxfp4) {
    quantised_bytes = parts.experts / 32 * 17;  // 4 bits each and one scale byte per 32
    kept -= parts.experts;
  }
  return kept * base + quantised_bytes;
}

ByteCount weight_bytes(const ModelSpec& model, Dtype dtype, std::int64_t tp) {
  return stored_bytes(rank_parts(model, tp), dtype);
}

ByteCount decode_weight_bytes(const ModelSpec& model, Dtype dtype, std::int64_t tp) {
  ParamParts parts = rank_parts(model, tp);
  parts.embedding = 0;
  parts.lm_head = padded_vocab_per_rank(model, tp) * model.hidden;
  return stored_bytes(parts, dtype);
}

ByteCount kv_bytes_per_token_layer(const ModelSpec& model, Dtype kv, std::int64_t tp) {
  // The latent of MLA is replicated on every rank (ENGINES.md 2.3).
  if (model.mla) return (model.mla->kv_lora_rank + model.mla->qk_rope) * bytes_per_element(kv);
  return 2 * kv_heads_per_rank(model, tp) * model.head_dim * bytes_per_element(kv);
}

KvLayout make_kv_layout(const ModelSpec& model, Dtype kv, std::int64_t tp,
                        std::int32_t block_tokens) {
  HEADROOM_CHECK(block_tokens >= 1, fmt::format("block of {} tokens", block_tokens));
  KvLayout layout;
  layout.layers = static_cast<std::int32_t>(model.layers);
  layout.bytes_per_token_layer = kv_bytes_per_token_layer(model, kv, tp);
  layout.block_tokens = block_tokens;
  return layout;
}

std::vector<std::string> unmodelled_features(const ModelSpec& model) {
  std::vector<std::string> warnings;
  if (model.sliding) {
    warnings.push_back(fmt::format(
        "{}: {} of {} layers attend to a window of {} tokens only; this version keeps and reads "
        "the "
        "whole context in every layer, so KV use and attention time are too high beyond the window",
        model.id, model.sliding->layers, model.layers, model.sliding->window_tokens));
  }
  return warnings;
}

}  // namespace headroom
