#pragma once
// Inside the intake of Hugging Face configs: the input and output of the reader of one family, and
// the parts that families share. The table of families is hf_families.cpp.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/llm/hf_fields.hpp"
#include "hardware/llm/model_spec.hpp"

namespace headroom {

// A matrix part with a bias: `key` of the config decides, `fallback` without it. No key: always
// `fallback`.
struct HfBias {
  std::string_view key;
  bool fallback = false;
};

enum class HfQkNorm : std::uint8_t {
  none,
  head,   // one vector of head_dim for queries and one for keys
  full,   // vectors over all query and all key heads
  config  // per head, where use_qk_norm or qk_layernorm is true
};

// What mixes the tokens of one layer.
enum class HfMixer : std::uint8_t {
  none,
  full,
  sliding,
  chunked,
  sparse,  // an indexer picks what is attended to
  recurrent,
  full_and_recurrent,  // side by side
  sliding_and_recurrent
};

// How a decoder differs from Llama. What the config says itself (windows, head sizes, experts) is
// not here.
struct HfTraits {
  HfBias qkv_bias{"attention_bias"};
  HfBias o_bias{};
  HfBias mlp_bias{};
  HfQkNorm qk_norm = HfQkNorm::none;
  std::int64_t norms = 2;
  bool layer_norm = false;
  bool gated = true;
  bool tied = false;  // where tie_word_embeddings is absent: the default of the HF config class
  bool head_bias = false;
  std::int64_t ffn_parts = 1;  // matrices of an MLP that intermediate_size is the width of together
  bool sinks = false;
  bool windows = true;              // where use_sliding_window is absent
  std::int64_t full_every = 0;      // layer types not listed: every n-th layer sees everything
  std::int64_t kv_heads = 0;        // default of the config class; 0: as many as query heads
  std::int64_t position_rows = -1;  // of a learned position table beyond max_position; -1: none
  bool router_bias = false;
  bool shared_gate = false;
  bool full_rank_delta = false;       // gate and decay of delta attention
  bool output_gate = false;           // of attention, where the config does not say
  std::optional<bool> mtp_tables{};   // shipped with prediction layers; absent: with experts
  std::optional<HfMixer> unstated{};  // of every layer of a hybrid that states none
  bool expert_bias = false;
  // Fields that published configs leave to the config class, as JSON merged under the config.
  std::string_view defaults = "{}";
};

enum class HfVision : std::uint8_t {
  none,
  clip,       // CLIP, SigLIP: learned positions, two-matrix MLP projector
  qwen2,      // depth, embed_dim; merger of 2 x 2 patches
  qwen3,      // also a merger per deepstack layer
  pixtral,    // gated, RMS norms, patch merger
  gemma3,     // SigLIP, one projection
  gemma4,     // gated, four norms, one projection
  llama4,     // pixel shuffle
  moonvit,    // Kimi
  internvit,  // InternVL
  by_fields   // of a wrapper that is not known: the nearest of these
};

struct HfIntake;
using HfReader = void (*)(HfIntake&);

// One row: a text model with its reader, or a wrapper (`text` is the architecture of the nested
// config, unless that names a known one itself).
struct HfFamily {
  std::string_view architecture;
  std::string_view model_type;
  HfReader read = nullptr;
  HfTraits traits = {};
  std::string_view text = {};
  HfVision vision = HfVision::none;
};

[[nodiscard]] const std::vector<HfFamily>& hf_families();  // alphabetical
// For what the table does not know: fields alone decide.
[[nodiscard]] const HfFamily& hf_family_by_fields();
[[nodiscard]] const HfFamily* find_hf_family(std::string_view architecture);
[[nodiscard]] const HfFamily* find_hf_model_type(std::string_view model_type);  // of text models

struct HfIntake {
  const HfTraits& traits;
  HfFields root;  // the whole config
  HfFields text;  // the language model's part of it
  ModelSpec model;

  // Layers for multi-token prediction: shipped, not loaded. `extra_params` of all of them.
  struct Extra {
    std::int64_t layers = 0;
    LayerKind kind;
    std::int64_t extra_params = 0;
  };
  Extra mtp;

  void note(std::string words) const { root.log().note(std::move(words)); }
  [[nodiscard]] WeightFormat format() const { return format_of(model.dtype); }
};

// Readers of whole text models, by shape.
// Whatever the architecture is called: each layer of the parts that the fields describe, as
// `in.traits` say where fields are silent. ConfigError for a field that would change bytes or time
// and cannot be read.
void read_layers(HfIntake& in);
// The same where the architecture is not known: the traits follow from the fields, too, and notes
// say what was assumed and which fields were not read.
void read_by_fields(HfIntake& in);
void read_decoder(HfIntake& in);  // attention and MLP or experts, after HfTraits
void read_opt(HfIntake& in);
void read_bloom(HfIntake& in);
void read_encoder(HfIntake& in);  // of BERT's kind
void read_falcon(HfIntake& in);
void read_llama4(HfIntake& in);
void read_longcat(HfIntake& in);
void read_gemma3n(HfIntake& in);
void read_gemma4(HfIntake& in);
void read_deepseek_v4(HfIntake& in);
void read_nemotron_h(HfIntake& in);
void read_mamba(HfIntake& in);
void read_mamba2(HfIntake& in);
void read_lfm2(HfIntake& in);

// Shared parts. Widths, vocabulary, dtype, tied embeddings and the longest context; returns the
// number of layers (1 to 10,000).
[[nodiscard]] std::int64_t read_tables(HfIntake& in);
// The length that vLLM derives (config/model.py, _get_and_verify_max_len): the smallest of the
// known fields, times the rope factor where the type scales (yarn: of the original length).
[[nodiscard]] std::int64_t read_max_position(const HfFields& text);
[[nodiscard]] AttentionSpec read_attention(const HfIntake& in);
[[nodiscard]] AttentionSpec read_latent_attention(const HfIntake& in);
// Of sparse attention; nothing where the config describes none.
[[nodiscard]] std::optional<IndexerSpec> read_indexer(const HfIntake& in);
// Whether the layer takes over the choice of an earlier layer's indexer.
[[nodiscard]] bool shares_indexer(const HfIntake& in, std::int64_t layer);
// The layers without attention, by the fields that describe them; nothing where none do.
[[nodiscard]] std::optional<RecurrentSpec> read_recurrent(const HfIntake& in);
// What each layer mixes its tokens with, after every rule that the config states.
[[nodiscard]] std::vector<HfMixer> read_mixers(const HfIntake& in, std::int64_t layers);
// Layers that state their parts themselves (block_configs of pruned models).
void read_block_configs(HfIntake& in);
// Per-layer inputs of Gemma 3n and 4: a table of rows for all layers, a projection of the hidden
// state to them, and per layer a gate, a projection back and a norm.
void add_per_layer_inputs(HfIntake& in, std::int64_t width, std::int64_t layers);
// Hyper-connections of `streams` residual streams around a layer's two parts.
[[nodiscard]] std::int64_t hyper_connection_params(const HfIntake& in, std::int64_t streams);
// Norms over all heads are no part of AttentionSpec: extra parameters of the layer.
[[nodiscard]] std::int64_t full_norm_params(const HfTraits& traits, const AttentionSpec& a);
[[nodiscard]] MlpSpec read_mlp(const HfIntake& in, std::int64_t ffn);
[[nodiscard]] std::int64_t read_ffn(const HfIntake& in);
[[nodiscard]] bool has_experts(const HfIntake& in);
[[nodiscard]] MoeSpec read_moe(const HfIntake& in);
// Which layers have experts, after every rule that the config states.
[[nodiscard]] std::vector<bool> moe_layers(const HfIntake& in, std::int64_t layers);
// Tokens of a window, 0: the config states none.
[[nodiscard]] std::int64_t read_window(const HfFields& text);
// Number of layers: stated, or the length of a list that has an entry per layer; 0: neither.
[[nodiscard]] std::int64_t count_layers(const HfFields& text);
// The window of each layer, 0 where it sees everything (also where the window is no limit).
[[nodiscard]] std::vector<std::int64_t> layer_windows(const HfIntake& in, std::int64_t layers);
// `layer_types` (or `key`), checked against the number of layers; empty when it is not there.
[[nodiscard]] std::vector<std::string> read_layer_types(const HfFields& text, std::int64_t layers,
                                                        std::string_view key = "layer_types");
// Multi-token prediction layers shaped as `kind`, with a projection of two hidden vectors; with
// `own_tables` each ships a copy of embedding and head.
void add_mtp(HfIntake& in, std::int64_t layers, const LayerKind& kind, bool own_tables);

// The tower of `vision_config`, when there is one.
void read_vision(HfIntake& in, HfVision kind);
// The tower of `audio_config`, when there is one.
void read_audio(HfIntake& in);

}  // namespace headroom
