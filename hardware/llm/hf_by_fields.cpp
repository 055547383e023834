// Architectures that no row of the table knows: read by the parts that the fields describe. What
// fields leave open is small (norms, biases) and noted.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "hardware/llm/hf_reader.hpp"
#include "sim/kernel/nearest_name.hpp"

namespace headroom {
namespace {

bool any_flag(const HfFields& text, HfKeys keys) {
  return std::ranges::any_of(keys, [&](std::string_view key) {
    return text.has(key) && text.json().at(std::string(key)) == true;
  });
}

// The first of `keys` that is there decides about a bias.
HfBias bias_of(const HfFields& text, HfKeys keys) {
  for (const std::string_view key : keys) {
    if (text.has(key)) return {key, false};
  }
  return {"", false};
}

// MLPs of two matrices: activations that no gated MLP has (Nemotron, Arcee, Apertus).
bool has_gate(const HfFields& text) {
  for (const std::string_view key : {"hidden_act", "hidden_activation", "mlp_hidden_act"}) {
    if (!text.is_text(key)) continue;
    const std::string name = text.text(key);
    return name != "relu2" && name != "relu" && name != "xielu" && name != "gelu_new";
  }
  return true;
}

HfTraits traits_of(const HfFields& text) {
  HfTraits traits;
  traits.qkv_bias = bias_of(
      text, {"attention_bias", "qkv_bias", "use_qkv_bias", "add_qkv_bias", "use_bias", "bias"});
  traits.o_bias =
      bias_of(text, {"attention_out_bias", "o_bias", "attention_bias", "use_bias", "bias"});
  traits.mlp_bias = bias_of(text, {"mlp_bias", "use_bias"});
  traits.qk_norm = text.text("qk_norm_type") == "per_head" ? HfQkNorm::head : HfQkNorm::config;
  traits.norms = any_flag(text, {"use_sandwich_norm", "use_post_norm", "sandwich_norm"}) ? 4 : 2;
  traits.gated = has_gate(text);
  traits.windows = true;
  traits.shared_gate = any_flag(text, {"shared_expert_gate", "use_shared_expert_gate"});
  traits.router_bias = text.text("scoring_func") == "sigmoid";
  return traits;
}

// Encoders and pairs of encoder and decoder keep no KV cache that this reading would find.
void refuse_encoders(const HfFields& root) {
  if (root.has("is_encoder_decoder") && root.flag("is_encoder_decoder", false)) {
    throw root.error("is_encoder_decoder", "false: only decoders are modelled");
  }
  for (const std::string_view key : {"type_vocab_size", "relative_attention_num_buckets"}) {
    if (root.has(key) && !root.flag("is_decoder", false)) {
      throw root.error(key, "not in a decoder: of encoders those of BERT's kind are modelled");
    }
  }
}

// Mechanisms that would change bytes or time and that no part here covers.
void refuse_unread(const HfFields& text) {
  for (const std::string_view key : {"ple_layer_ids", "engram_layer_ids"}) {
    if (text.is_list(key) && !text.json().at(std::string(key)).empty()) {
      throw text.error(key, "empty: tables of n-grams are not modelled");
    }
  }
  for (const std::string_view key : {"H_cycles", "num_loops", "loop_num", "num_recurrent_loops"}) {
    if (text.integer_or({key}, 1) > 1) {
      throw text.error(key, "1 or absent: layers that run several times are not modelled");
    }
  }
  if (text.integer_or({"altup_num_inputs"}, 1) > 1) {
    throw text.error("altup_num_inputs", "1 or absent where the architecture is not Gemma 3n");
  }
}

// Fields without a part of their own: names, tokens, constants of formulas, training.
bool is_of_no_weight(std::string_view key) {
  static constexpr std::array<std::string_view, 52> kParts{
      "token",        "dropout",     "initializer", "eps",        "epsilon",      "use_cache",
      "rope",         "rotary",      "router_aux",  "aux_loss",   "norm_topk",    "scoring",
      "group",        "scaling",     "scale",       "softcap",    "transformers", "model_type",
      "architecture", "auto_map",    "hidden_act",  "activation", "attn_impl",    "quantization",
      "compression",  "id2label",    "label2id",    "torch",      "dtype",        "multiplier",
      "loss",         "limit",       "alpha",       "beta",       "logits",       "output_",
      "return_dict",  "pretraining", "chunk_size",  "_name_or",   "temperature",  "jitter",
      "problem_type", "mup",         "time_step",   "ep_size",    "topk_method",  "floor",
      "seed",         "theta",       "interleave",  "ignore"};
  return std::ranges::any_of(
      kParts, [&](std::string_view part) { return key.find(part) != std::string_view::npos; });
}

// Numbers, lists and switched-on flags that nothing looked at, for the user to judge.
std::vector<std::string> fields_not_read(const HfFields& text) {
  std::vector<std::string> names;
  for (const auto& entry : text.json().items()) {
    const HfJson& value = entry.value();
    const bool silent = value.is_null() || value == false || value == 0 || value.is_string() ||
                        (value.is_structured() && value.empty());
    if (silent || text.log().read.contains(entry.key()) || is_of_no_weight(entry.key())) continue;
    if (names.size() == 12) {
      names.emplace_back("...");
      break;
    }
    names.push_back(entry.key());
  }
  return names;
}

std::string_view attention_words(const ModelSpec& m) {
  for (const LayerKind& kind : m.kinds) {
    if (!kind.attention) continue;
    if (kind.attention->mla) return "latent attention";
    if (kind.attention->compress_ratio > 1) return "compressed attention";
    return "grouped-query attention";
  }
  return "no attention";
}

void note_assumptions(HfIntake& in) {
  const ModelSpec& m = in.model;
  const auto any = [&](auto has) { return std::ranges::any_of(m.kinds, has); };
  std::string parts(attention_words(m));
  if (any([](const LayerKind& k) { return k.attention && k.attention->window_tokens > 0; })) {
    parts += ", windows";
  }
  if (any([](const LayerKind& k) { return k.attention && k.attention->indexer; })) {
    parts += ", sparse layers";
  }
  if (any([](const LayerKind& k) { return k.recurrent.has_value(); })) parts += ", states";
  if (any([](const LayerKind& k) { return k.moe.has_value(); })) parts += ", experts";
  in.note(fmt::format(
      "architecture {} is not known and is read by its fields as {} layers of {}; norms and biases "
      "that no field states are assumed as in Llama",
      m.architecture.empty() ? "(none)" : m.architecture, m.layers(), parts));
  // Phi's models for images and sound name their towers so.
  if (in.root.has("img_processor") || in.root.has("audio_processor")) {
    in.note("towers for images or sound, and adapters for them, are not counted");
  }
  const std::vector<std::string> unread = fields_not_read(in.text);
  if (!unread.empty()) {
    in.note(fmt::format("fields without effect here: {}", comma_list(unread)));
  }
}

void add_per_layer_tables(HfIntake& in) {
  const std::int64_t width = in.text.integer_or({"hidden_size_per_layer_input"}, 0);
  if (width > 0) add_per_layer_inputs(in, width, in.model.layers());
}

void read_shape(HfIntake& in) {
  if (in.text.is_list("block_configs")) {
    read_block_configs(in);
  } else if (in.text.has("compress_ratios") || in.text.has("compress_rates")) {
    read_deepseek_v4(in);
  } else if (in.text.has("hybrid_override_pattern") || in.text.is_list("layers_block_type")) {
    read_nemotron_h(in);
  } else {
    read_layers(in);
  }
}

}  // namespace

void read_by_fields(HfIntake& in) {
  refuse_encoders(in.root);
  refuse_unread(in.text);
  const HfTraits traits = traits_of(in.text);
  HfIntake parts{traits, in.root, in.text, std::move(in.model), {}};
  read_shape(parts);
  in.model = std::move(parts.model);
  in.mtp = parts.mtp;
  add_per_layer_tables(in);
  note_assumptions(in);
}

}  // namespace headroom
