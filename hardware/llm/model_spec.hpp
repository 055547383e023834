#pragma once
// A model as its geometry: parameters, bytes, KV sizes and states all follow from it and are stored
// nowhere. Layers of one shape are one `LayerKind`; `order` says which layer is of which kind.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hardware/llm/dtype.hpp"
#include "hardware/llm/model_part.hpp"

namespace headroom {

struct MlaSpec {  // multi-head latent attention
  std::int64_t kv_lora_rank = 0;
  std::int64_t q_lora_rank = 0;  // 0: the query is projected directly
  std::int64_t qk_nope = 0;
  std::int64_t qk_rope = 0;
  std::int64_t v_head = 0;

  friend bool operator==(const MlaSpec&, const MlaSpec&) = default;
};

// The small scorer of sparse attention (DeepSeek V3.2, GLM-5, MiniMax-M3): it keeps one key of
// `head_dim` per token and picks `top_k` tokens for the attention proper.
struct IndexerSpec {
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t top_k = 0;
  std::int64_t key_bytes = 0;       // of a kept key; 0: fp8 with a 32-bit scale per 128 elements
  std::int64_t tokens_per_key = 1;  // keys are kept for blocks of that many tokens
  bool shared = false;  // takes over the choice of an earlier layer: no weights, no keys

  friend bool operator==(const IndexerSpec&, const IndexerSpec&) = default;
};

struct AttentionSpec {
  std::int64_t q_heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;       // of queries and keys; with MLA: qk_nope + qk_rope
  std::int64_t v_head_dim = 0;     // of values
  std::int64_t rotary_dim = 0;     // part of a head that is turned; 0: all of it
  std::int64_t window_tokens = 0;  // 0: sees everything
  bool chunked = false;  // the window is a chunk with fixed borders (Llama 4), not a sliding one
  bool qkv_bias = false;
  bool o_bias = false;
  bool qk_norm = false;
  bool norms_all_heads = false;  // query and key over the width of all heads, not per head
  bool sinks = false;            // one learned logit per query head
  bool output_gate = false;      // as wide as the output: of the query, with MLA by its own matrix
  bool value_is_key = false;     // no value projection; keys and values are still both kept
  bool shares_kv = false;        // reads the KV of an earlier layer and keeps none
  // KV entries per token: 1, or one entry per `compress_ratio` tokens beside a window of
  // `window_tokens` exact ones (DeepSeek V4).
  std::int64_t compress_ratio = 1;
  // Without MLA: the query through a low rank (0: directly), the output through `o_groups` blocks
  // of rank `o_lora_rank` over the heads and one matrix back (0: directly). DeepSeek V4.
  std::int64_t q_lora_rank = 0;
  std::int64_t o_lora_rank = 0;
  std::int64_t o_groups = 1;
  bool bidirectional = false;     // sees what follows, too (encoders): whole prompts, no KV kept
  bool keeps_values = true;       // false: values are read from the kept keys (DeepSeek V4)
  std::int64_t extra_params = 0;  // further matrices
  // Whole on every rank and never quantised: vLLM fuses them without tensor parallelism, SGLang
  // replicates them in bf16 (Compressor: wkv_gate).
  std::int64_t compressor_params = 0;
  std::optional<MlaSpec> mla;
  std::optional<IndexerSpec> indexer;
  WeightFormat format;

  friend bool operator==(const AttentionSpec&, const AttentionSpec&) = default;
};

// A layer that keeps one state per sequence, whatever its length.
struct RecurrentSpec {
  enum class Family : std::uint8_t {
    mamba1,
    mamba2,
    gated_delta_net,       // Qwen3-Next, Qwen3.5
    kimi_delta_attention,  // Kimi Linear
    lightning,             // MiniMax-Text-01, Ling: linear attention with a decay per head
    short_convolution      // LFM2: the convolution alone
  };
  Family family = Family::mamba2;
  // mamba: `value_heads` heads of `value_head_dim` with `key_head_dim` states each, `key_heads`
  // groups. Delta networks: a state is key_head_dim x value_head_dim per value head.
  std::int64_t key_heads = 0;
  std::int64_t value_heads = 0;
  std::int64_t key_head_dim = 0;
  std::int64_t value_head_dim = 0;
  std::int64_t conv_kernel = 0;
  bool conv_bias = false;
  bool proj_bias = false;
  std::int64_t dt_rank = 0;         // mamba1
  bool full_rank_gate = false;      // kimi_delta_attention: gate and decay each in one matrix,
  bool full_rank_decay = false;     // not through a low rank
  Dtype state_dtype = Dtype::bf16;  // of the recurrent state
  Dtype conv_dtype = Dtype::bf16;   // of the convolution's state
  WeightFormat format;

  friend bool operator==(const RecurrentSpec&, const RecurrentSpec&) = default;
};

struct MlpSpec {
  std::int64_t ffn = 0;
  bool gated = true;  // three matrices instead of two
  bool bias = false;
  WeightFormat format;

  friend bool operator==(const MlpSpec&, const MlpSpec&) = default;
};

struct MoeSpec {
  std::int64_t experts = 0;
  std::int64_t top_k = 0;
  std::int64_t ffn = 0;         // intermediate size of one routed expert
  std::int64_t shared_ffn = 0;  // of all shared experts of a layer together
  std::int64_t latent = 0;      // experts work on this width instead of hidden (0: hidden)
  bool gated = true;
  bool shared_gate = false;  // a learned gate of one output on the shared expert
  bool router_bias = false;
  bool expert_bias = false;
  WeightFormat format;
  WeightFormat shared_format;

  friend bool operator==(const MoeSpec&, const MoeSpec&) = default;
};

// One layer: a mixer (attention, recurrence or none), then an MLP, experts, both or none.
struct LayerKind {
  std::optional<AttentionSpec> attention;
  std::optional<RecurrentSpec> recurrent;
  std::optional<MlpSpec> mlp;
  std::optional<MoeSpec> moe;
  std::int64_t norms = 2;             // of width hidden
  std::int64_t residual_streams = 1;  // that hyper-connections mix (DeepSeek V4)
  std::int64_t extra_params = 0;      // of no other part, replicated (hyper-connections, scalars)

  friend bool operator==(const LayerKind&, const LayerKind&) = default;
};

// The tower of a vision-language (or audio) model with its projector, as loaded.
struct VisionSpec {
  enum class Family : std::uint8_t {
    clip,  // CLIP, SigLIP and what else has one size of image
    qwen,  // images of any size, merged 2 x 2 (Qwen2-VL to Qwen3-VL)
    pixtral,
    gemma3,
    gemma4,
    llama4,
    moonvit,  // Kimi-VL, Kimi-K2.5
    internvit
  };
  Family family = Family::clip;
  std::int64_t params = 0;
  std::int64_t hidden = 0;
  std::int64_t layers = 0;
  std::int64_t ffn = 0;
  bool gated = false;
  std::int64_t patch = 0;             // side of a patch in pixels
  std::int64_t patches = 0;           // of one square image; 0: images of any size
  std::int64_t tokens_per_image = 0;  // soft tokens of the largest image; 0: not known
  // Tokens of one image or video see each other, so a step takes all of them or none
  // (use_bidirectional_attention "vision").
  bool bidirectional = false;
  // Layers of the tower whose features are added behind layers of the model, beside its output.
  std::int64_t deepstack_levels = 0;
  // The config's `num_hidden_layers` and `hidden_size`, which some engines read whatever the tower
  // calls its own numbers; 0: it has no such field.
  std::int64_t named_layers = 0;
  std::int64_t named_hidden = 0;
  WeightFormat format;
};

// Bytes of the weights as their files state them, by what they belong to: exact where formats give
// an estimate. They hold for the model as shipped and are dropped when it is loaded in another
// format.
struct StoredWeights {
  PartBytes outside{};            // of no layer
  std::vector<PartBytes> layers;  // one per layer of the model
  ByteCount unloaded = 0;         // shipped, not loaded
};

struct ModelSpec {
  std::string id;
  std::string hf_repo;
  std::string architecture;  // as config.json calls it; empty for rows of the catalog
  // Of the language model inside a vision-language model: engines build it by its own class.
  std::string text_architecture;
  std::int64_t hidden = 0;
  std::int64_t vocab = 0;
  std::int64_t max_position = 0;            // the length it was trained for, rope scaling included
  std::int64_t position_rows = 0;           // learned position table; 0 with rotary embedding
  std::int64_t rotary_rows = 0;             // of all rotary tables together; 0: one of max_position
  std::int64_t embedding_width = 0;         // 0: hidden (OPT-350M projects a narrower table)
  std::int64_t extra_embedding_params = 0;  // per-layer input tables (Gemma 3n)
  bool pooling = false;                     // makes vectors, by its row of the catalog
  bool layer_norm = false;                  // with bias, two vectors; false: RMS norm, one
  bool tie_embeddings = false;
  bool head_bias = false;
  Dtype dtype = Dtype::bf16;  // of activations and of all that is not quantised
  WeightFormat embedding_format;
  WeightFormat head_format;
  std::optional<Dtype> kv_dtype;    // declared by the checkpoint
  std::string quantization_method;  // declared: modelopt, compressed-tensors ...; empty: none
  std::vector<LayerKind> kinds;
  std::vector<std::uint16_t> order;  // kind of each layer
  std::optional<VisionSpec> vision;
  std::int64_t unloaded_params = 0;  // shipped, not loaded (multi-token prediction layers)
  ByteCount unloaded_bytes = 0;
  std::optional<StoredWeights> stored;
  std::vector<std::string> notes;  // what the intake simplified: warnings of every result
  std::string source;

  [[nodiscard]] std::int64_t layers() const { return static_cast<std::int64_t>(order.size()); }
  [[nodiscard]] std::int64_t layers_of(std::size_t kind) const;
  [[nodiscard]] const LayerKind& layer(std::size_t index) const { return kinds[order[index]]; }
};

// Makes vectors of prompts and no tokens. Files of models for sentence-transformers say it, which
// the row of the catalog or the name stands for here.
[[nodiscard]] bool is_embedding_model(const ModelSpec& model);

// Rows of the matrix behind the last layer: the vocabulary, or a pooler's where no token is chosen.
[[nodiscard]] std::int64_t output_rows(const ModelSpec& model);

// Bidirectional throughout: computes a prompt in one piece and keeps no KV of it.
[[nodiscard]] bool is_encoder(const ModelSpec& model);

// Appends `count` layers of `kind`, which joins an equal one that is there already.
void add_layers(ModelSpec& model, const LayerKind& kind, std::int64_t count);

// How the model is split. Matrices are divided over the tensor ranks, experts over tensor x data
// ranks: each of them like other matrices, or, with `expert_parallel`, as whole experts.
struct Sharding {
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  std::int64_t data = 1;
  bool expert_parallel = false;
  std::int64_t context = 1;  // of the `tensor` ranks: so many share the KV of a sequence's tokens

  [[nodiscard]] std::int64_t devices() const { return tensor * pipeline * data; }
  [[nodiscard]] std::int64_t expert_ranks() const { return tensor * data; }
  // Parts that each expert is cut into, and shares that the experts of a layer are dealt out in.
  [[nodiscard]] std::int64_t expert_cuts() const { return expert_parallel ? 1 : expert_ranks(); }
  [[nodiscard]] std::int64_t expert_shares() const { return expert_parallel ? expert_ranks() : 1; }
};

// ConfigError naming the width or count that `sharding` does not divide.
void check_sharding(const ModelSpec& model, const Sharding& sharding);

// The layers [first, last) of a pipeline stage: equal shares, the rest to the later stages but the
// last (vLLM get_pp_indices).
struct StageLayers {
  std::size_t first = 0;
  std::size_t last = 0;
};
[[nodiscard]] StageLayers stage_layers(const ModelSpec& model, const Sharding& sharding,
                                       std::int64_t stage);

// The model with other formats. `dtype` (fp32, fp16, bf16) replaces what is not quantised.
[[nodiscard]] ModelSpec with_dtype(ModelSpec model, Dtype dtype);
// Quantised when loaded: matrices of the layers, for mxfp4 the experts only, for types of llama.cpp
// everything. A checkpoint that is quantised in another way stands for one that others made of the
// same model; a note says what is in which format.
[[nodiscard]] ModelSpec quantised(ModelSpec model, Dtype dtype);
// The model as a GGUF file whose experts are in mxfp4 holds it: all other matrices in q8_0.
[[nodiscard]] ModelSpec as_mxfp4_gguf(ModelSpec model);
// Format of most of the model's matrix elements: what its products compute in.
[[nodiscard]] Dtype main_dtype(const ModelSpec& model);
[[nodiscard]] bool has_experts(const ModelSpec& model);  // in any layer
[[nodiscard]] bool has_states(const ModelSpec& model);   // recurrent layers

}  // namespace headroom
