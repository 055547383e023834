#pragma once
// A model as its geometry: parameters, bytes and KV sizes all follow from it and are stored
// nowhere.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/serving/kv_layout.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

// What weights or KV entries are stored as. fp8 and int8 quantise the matrices of the layers only,
// mxfp4 the routed experts only; embeddings, output head, router, norms and biases stay 16-bit.
enum class Dtype : std::uint8_t { fp32, fp16, bf16, fp8, int8, mxfp4 };
[[nodiscard]] std::string_view name_of(Dtype dtype);
[[nodiscard]] Dtype parse_dtype(std::string_view name);     // ConfigError with the nearest name
[[nodiscard]] std::int64_t bytes_per_element(Dtype dtype);  // of activations or KV; not mxfp4
[[nodiscard]] bool is_quantised(Dtype dtype);               // fp8, int8, mxfp4

struct SlidingWindow {
  std::int64_t window_tokens = 0;
  std::int64_t layers = 0;  // layers that see only the window; the others see everything
};

struct MoeSpec {
  std::int64_t experts = 0;
  std::int64_t top_k = 0;
  std::int64_t ffn = 0;                 // intermediate size of one routed expert
  std::int64_t shared_ffn = 0;          // of all shared experts of a layer together
  std::int64_t first_dense_layers = 0;  // layers with a dense MLP of ModelSpec::ffn
  bool router_bias = false;
  bool expert_bias = false;
};

struct MlaSpec {  // multi-head latent attention
  std::int64_t kv_lora_rank = 0;
  std::int64_t q_lora_rank = 0;  // 0: the query is projected directly
  std::int64_t qk_nope = 0;
  std::int64_t qk_rope = 0;
  std::int64_t v_head = 0;
};

struct ModelSpec {
  std::string id;
  std::string hf_repo;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t q_heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;  // with MLA: qk_nope + qk_rope
  std::int64_t ffn = 0;       // of dense layers; 0 when every layer is MoE
  std::int64_t vocab = 0;
  std::int64_t max_position = 0;
  std::int64_t position_rows = 0;  // learned position table; 0 with rotary embedding
  std::int64_t norms_per_layer = 2;
  bool layer_norm = false;  // with bias, two vectors; false: RMS norm, one
  bool gated_mlp = true;    // three matrices instead of two
  bool tie_embeddings = false;
  bool qkv_bias = false;
  bool o_bias = false;
  bool mlp_bias = false;
  bool qk_norm = false;
  bool attention_sinks = false;  // one learned logit per query head
  std::optional<SlidingWindow> sliding;
  std::optional<MoeSpec> moe;
  std::optional<MlaSpec> mla;
  Dtype dtype = Dtype::bf16;  // of the published checkpoint
  std::string source;
};

// Parameters by part; of the whole model, or of one tensor-parallel rank.
struct ParamParts {
  std::int64_t embedding =
      0;                     // input tables (tokens, learned positions): a decode step reads a row
  std::int64_t lm_head = 0;  // 0 when tied to the embedding
  std::int64_t attention = 0;  // matrices
  std::int64_t dense_mlp = 0;  // matrices of dense layers and of shared experts
  std::int64_t experts = 0;    // matrices of all routed experts
  std::int64_t router = 0;
  std::int64_t expert_bias = 0;
  std::int64_t small = 0;  // norms, other biases, sinks

  [[nodiscard]] std::int64_t total() const {
    return embedding + lm_head + attention + dense_mlp + experts + router + expert_bias + small;
  }
};

[[nodiscard]] ParamParts param_parts(const ModelSpec& model);
// What one of `tp` ranks holds: heads, MLP columns and vocabulary (padded to a multiple of 64,
// vLLM) divided, KV heads at least one, MLA down-projections, router and norms replicated.
[[nodiscard]] ParamParts rank_parts(const ModelSpec& model, std::int64_t tp);
[[nodiscard]] std::int64_t params_total(const ModelSpec& model);
[[nodiscard]] std::int64_t params_active(
    const ModelSpec& model);  // per token: top_k of the experts

[[nodiscard]] std::int64_t query_heads_per_rank(const ModelSpec& model, std::int64_t tp);
[[nodiscard]] std::int64_t kv_heads_per_rank(const ModelSpec& model, std::int64_t tp);

// ConfigError when the model cannot be split over `tp` ranks.
void check_tensor_parallel(const ModelSpec& model, std::int64_t tp);

// Bytes of `parts` stored as `dtype`.
[[nodiscard]] ByteCount stored_bytes(const ParamParts& parts, Dtype dtype);
[[nodiscard]] ByteCount weight_bytes(const ModelSpec& model, Dtype dtype, std::int64_t tp);
// Weights that one decode step of a large batch reads: all but the input tables. With tied
// embeddings the table is read once as output head.
[[nodiscard]] ByteCount decode_weight_bytes(const ModelSpec& model, Dtype dtype, std::int64_t tp);

[[nodiscard]] ByteCount kv_bytes_per_token_layer(const ModelSpec& model, Dtype kv, std::int64_t tp);
[[nodiscard]] KvLayout make_kv_layout(const ModelSpec& model, Dtype kv, std::int64_t tp,
                                      std::int32_t block_tokens);

// Features of the model that this version computes as something simpler. Each goes as a warning
// into every result.
[[nodiscard]] std::vector<std::string> unmodelled_features(const ModelSpec& model);

}  // namespace headroom
