// Decoders of one shape: grouped-query attention, then an MLP or experts.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "hardware/llm/hf_reader.hpp"

namespace headroom {
namespace {

bool has_bias(const HfIntake& in, const HfBias& bias) {
  return bias.key.empty() ? bias.fallback : in.text.flag(bias.key, bias.fallback);
}

std::int64_t read_kv_heads(const HfIntake& in, std::int64_t q_heads) {
  const auto given =
      in.text.find_integer({"num_key_value_heads", "num_kv_heads", "n_head_kv", "n_kv_heads",
                            "num_attention_groups", "multi_query_group_num", "kv_n_heads"});
  // GPT-BigCode and the first Falcons say "multi_query"; ChatGLM gives the number of groups.
  const bool multi_query = in.text.flag("multi_query", false);
  if (multi_query && !in.text.flag("new_decoder_architecture", false)) return 1;
  if (given) return *given;
  return in.traits.kv_heads > 0 ? in.traits.kv_heads : q_heads;
}

std::int64_t read_head_dim(const HfIntake& in, std::int64_t q_heads) {
  const auto given = in.text.find_integer({"head_dim", "attention_head_dim", "kv_channels"});
  if (given && *given > 0) return *given;
  if (in.model.hidden % q_heads != 0) {
    throw in.text.error("hidden_size", fmt::format("divisible by {} attention heads, or head_dim "
                                                   "is needed",
                                                   q_heads));
  }
  return in.model.hidden / q_heads;
}

bool has_head_norm(const HfIntake& in) {
  if (in.traits.qk_norm == HfQkNorm::head) return true;
  if (in.traits.qk_norm != HfQkNorm::config) return false;
  return std::ranges::any_of(
      std::array{"use_qk_norm", "qk_layernorm", "qk_norm", "use_qk_layernorm"},
      [&](const char* key) { return in.text.flag(key, false); });
}

// "LLLG" (Exaone 4) repeats; a number n means that every n-th layer sees everything.
std::vector<bool> sliding_by_pattern(const HfIntake& in, std::int64_t layers) {
  std::vector<bool> sliding(static_cast<std::size_t>(layers), true);
  std::string letters;
  if (in.text.is_text("sliding_window_pattern")) letters = in.text.text("sliding_window_pattern");
  std::int64_t every = in.traits.full_every;
  if (letters.empty()) {
    every = in.text.integer_or(
        {"sliding_window_pattern", "_sliding_window_pattern", "layer_switch"}, every);
  }
  const std::int64_t from = in.text.integer_or({"max_window_layers"}, 0);
  for (std::size_t i = 0; i < sliding.size(); ++i) {
    const auto layer = static_cast<std::int64_t>(i);
    if (!letters.empty()) {
      sliding[i] = letters[i % letters.size()] == 'L';
    } else if (every > 0) {
      sliding[i] = (layer + 1) % every != 0;
    } else {
      sliding[i] = layer >= from;  // Qwen2: the first layers see everything
    }
  }
  return sliding;
}

}  // namespace

std::vector<std::string> read_layer_types(const HfFields& text, std::int64_t layers,
                                          std::string_view key) {
  std::vector<std::string> types = text.texts(key);
  if (!types.empty() && std::ssize(types) != layers) {
    throw text.error(key, fmt::format("{} entries for {} layers", types.size(), layers));
  }
  return types;
}

std::int64_t read_window(const HfFields& text) {
  if (text.is_list("sliding_window")) return 0;  // one per layer
  return text.integer_or({"sliding_window", "sliding_window_size", "attention_window_size",
                          "local_attention_window", "window_size"},
                         0);
}

std::vector<std::int64_t> layer_windows(const HfIntake& in, std::int64_t layers) {
  std::vector<std::int64_t> windows(static_cast<std::size_t>(layers), 0);
  const std::int64_t window = read_window(in.text);
  const std::vector<std::string> types = read_layer_types(in.text, layers);
  // A config of before Mistral's and Qwen2's windows were switched off keeps the number.
  if (!in.text.flag("use_sliding_window", in.traits.windows)) return windows;
  if (window == 0 || window >= in.model.max_position) return windows;
  const std::vector<bool> sliding =
      types.empty() ? sliding_by_pattern(in, layers) : std::vector<bool>{};
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const bool slides = types.empty() ? sliding[i] : types[i] == "sliding_attention";
    if (slides) windows[i] = window;
  }
  return windows;
}

AttentionSpec read_attention(const HfIntake& in) {
  AttentionSpec a;
  a.q_heads = in.text.integer({"num_attention_heads", "n_head", "n_heads", "num_heads"});
  a.kv_heads = read_kv_heads(in, a.q_heads);
  if (a.kv_heads < 1 || a.kv_heads > a.q_heads || a.q_heads % a.kv_heads != 0) {
    throw in.text.error("num_key_value_heads",
                        fmt::format("a divisor of the {} attention heads", a.q_heads));
  }
  a.head_dim = read_head_dim(in, a.q_heads);
  // DeepSeek-OCR writes 0 where it has no latent attention.
  const std::int64_t value_dim = in.text.integer_or({"v_head_dim"}, 0);
  a.v_head_dim = value_dim > 0 ? value_dim : a.head_dim;
  a.qkv_bias = has_bias(in, in.traits.qkv_bias);
  a.o_bias = has_bias(in, in.traits.o_bias);
  a.qk_norm = has_head_norm(in);
  a.norms_all_heads = in.traits.qk_norm == HfQkNorm::full;
  a.sinks = in.traits.sinks;
  // Step 3: queries through a low rank of their own.
  a.q_lora_rank = in.text.integer_or({"share_q_dim"}, 0);
  a.format = in.format();
  return a;
}

std::int64_t full_norm_params(const HfTraits& traits, const AttentionSpec& a) {
  if (traits.qk_norm != HfQkNorm::full) return 0;
  return (a.q_heads + (a.shares_kv ? 0 : a.kv_heads)) * a.head_dim;
}

std::int64_t read_ffn(const HfIntake& in) {
  // Beside experts the plain name may be theirs (MiniMax-M3); without them the shared one may be
  // the MLP's (Granite 4).
  if (!has_experts(in) && in.text.has("shared_intermediate_size")) {
    return in.text.integer({"shared_intermediate_size"});
  }
  const auto given = in.text.find_integer(
      {"dense_intermediate_size", "intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size"});
  if (given && *given % in.traits.ffn_parts != 0) {
    throw in.text.error(
        "intermediate_size",
        fmt::format("a multiple of {}: it is the width of so many matrices", in.traits.ffn_parts));
  }
  if (given && *given > 0) return *given / in.traits.ffn_parts;
  // GPT-2, GPT-J, BLOOM and Falcon leave it out, MPT says how many times the width.
  if (!in.traits.gated) return in.text.bounded("expansion_ratio", 4, 64) * in.model.hidden;
  in.text.missing("intermediate_size");
  return 1;
}

MlpSpec read_mlp(const HfIntake& in, std::int64_t ffn) {
  return {ffn, in.traits.gated, has_bias(in, in.traits.mlp_bias), in.format()};
}

void read_decoder(HfIntake& in) {
  const std::int64_t layers = read_tables(in);
  LayerKind base;
  base.attention = read_attention(in);
  base.norms = in.traits.norms;
  base.extra_params = full_norm_params(in.traits, *base.attention);
  const std::vector<std::int64_t> windows = layer_windows(in, layers);
  const std::vector<bool> experts = moe_layers(in, layers);
  LayerKind kind;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    kind = base;
    kind.attention->window_tokens = windows[i];
    if (experts[i]) {
      kind.moe = read_moe(in);
    } else {
      kind.mlp = read_mlp(in, read_ffn(in));
    }
    add_layers(in.model, kind, 1);
  }
  // GLM-4.5 ships its tables again with the prediction layer, MiMo does not.
  add_mtp(in, in.text.integer_or({"num_nextn_predict_layers"}, 0), kind, kind.moe.has_value());
}

void read_opt(HfIntake& in) {
  read_decoder(in);
  const std::int64_t width = in.text.integer_or({"word_embed_proj_dim"}, in.model.hidden);
  if (width != in.model.hidden) in.model.embedding_width = width;
}

void read_bloom(HfIntake& in) {
  read_decoder(in);
  in.model.extra_embedding_params = 2 * in.model.hidden;  // word_embeddings_layernorm
}

void read_falcon(HfIntake& in) {
  read_decoder(in);
  // Falcon-40B has a norm each for attention and MLP, which run side by side; Falcon-7B and -11B
  // share one, and without parallel_attn there are two again.
  const bool two = in.text.flag("new_decoder_architecture", false) &&
                   in.text.integer_or({"num_ln_in_parallel_attn"}, 2) == 2;
  const bool parallel = in.text.flag("parallel_attn", true);
  for (LayerKind& kind : in.model.kinds) kind.norms = two || !parallel ? 2 : 1;
}

}  // namespace headroom
