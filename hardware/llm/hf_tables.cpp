// What every text model has: tables, dtype and the longest context.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "hardware/llm/hf_reader.hpp"

namespace headroom {
namespace {

constexpr std::int64_t kMostLayers = 10000;
constexpr std::int64_t kMostPredicted = 64;
constexpr std::int64_t kWidest = std::int64_t{1} << 20;
constexpr std::int64_t kLengthOfNone = 2048;  // vLLM config/model.py: no key found

Dtype read_dtype(const HfIntake& in) {
  for (const HfFields* fields : {&in.text, &in.root}) {
    for (const std::string_view key : {"dtype", "torch_dtype"}) {
      const std::string name = fields->text(key);
      if (name.empty()) continue;
      std::optional<Dtype> dtype;
      try {
        dtype = parse_dtype(name);
      } catch (const ConfigError&) {  // its list has types that no model computes in
      }
      if (!dtype || is_quantised(*dtype)) {
        throw fields->error(key, "one of float32, float16, bfloat16");
      }
      return *dtype;
    }
  }
  // Transformers and vLLM then look at the weight files; published ones are bfloat16 nearly always.
  in.note("the config has no dtype: bfloat16 is assumed");
  return Dtype::bf16;
}

bool read_tied(const HfIntake& in) {
  for (const HfFields* fields : {&in.text, &in.root}) {
    for (const std::string_view key : {"tie_word_embeddings", "tie_embedding"}) {
      if (fields->has(key)) return fields->flag(key, false);
    }
  }
  return in.traits.tied;
}

// One set of rope parameters: {rope_type, factor, original_max_position_embeddings}.
struct Rope {
  double factor = 1;
  std::optional<std::int64_t> original;
};

void read_rope(const HfFields& rope, Rope& result) {
  std::string type = rope.text("rope_type");
  if (type.empty()) type = rope.text("type");
  if (type == "su" || type == "longrope" || type == "llama3") return;
  const std::optional<double> factor = rope.number("factor");
  if (factor) {
    if (!(*factor > 0 && *factor <= 1e6)) throw rope.error("factor", "above 0, up to 1000000");
    result.factor = *factor;
  }
  if (type == "yarn") result.original = rope.find_integer({"original_max_position_embeddings"});
}

}  // namespace

std::int64_t read_max_position(const HfFields& text) {
  std::optional<std::int64_t> length = text.find_integer({"model_max_length"});  // Command-R
  if (!length) {
    for (const std::string_view key :
         {"max_position_embeddings", "n_positions", "max_seq_len", "seq_length",
          "max_target_positions", "max_sequence_length", "max_seq_length", "seq_len"}) {
      const std::optional<std::int64_t> found = text.find_integer({key});
      if (found && *found > 0) length = std::min(length.value_or(*found), *found);
    }
  }
  if (!length) {
    text.log().note(
        fmt::format("the config has no context length: {} is assumed, as in vLLM", kLengthOfNone));
    length = kLengthOfNone;
  }
  // Gemma 3 states the length after scaling (vLLM skips it for model types with gemma3).
  if (text.text("model_type").find("gemma3") != std::string::npos) return *length;

  Rope rope;
  for (const std::string_view key : {"rope_scaling", "rope_parameters"}) {
    if (!text.has(key)) continue;
    const HfFields fields = *text.object(key);
    const bool nested =
        fields.json().begin() != fields.json().end() &&
        std::ranges::all_of(fields.json(), [](const HfJson& entry) { return entry.is_object(); });
    if (!nested) {
      read_rope(fields, rope);
      continue;
    }
    for (const auto& entry : fields.json().items()) read_rope(*fields.object(entry.key()), rope);
  }
  const double scaled = static_cast<double>(rope.original.value_or(*length)) * rope.factor;
  return static_cast<std::int64_t>(scaled);
}

// Gemma 3 keeps a table for its windowed layers and one for the others, whose rows a linear scaling
// multiplies (vLLM LinearScalingRotaryEmbedding).
void read_gemma3_rotary(const HfFields& text, ModelSpec& m) {
  if (text.text("model_type").find("gemma3") == std::string::npos) return;
  double factor = 1;
  if (const std::optional<HfFields> scaling = text.object("rope_scaling")) {
    factor = scaling->number("factor").value_or(1);
    if (!(factor > 0 && factor <= 1e6)) throw scaling->error("factor", "above 0, up to 1000000");
  }
  m.rotary_rows =
      m.max_position + static_cast<std::int64_t>(static_cast<double>(m.max_position) * factor);
}

std::int64_t count_layers(const HfFields& text) {
  const auto stated = text.find_integer({"num_hidden_layers", "n_layer", "n_layers", "num_layers"});
  if (stated && *stated > 0) return *stated;
  if (text.is_text("hybrid_override_pattern")) {
    return std::ssize(text.text("hybrid_override_pattern"));
  }
  for (const std::string_view key : {"layer_types", "layers_block_type", "block_configs",
                                     "mlp_layer_types", "hybrid_layer_pattern", "attn_type_list"}) {
    if (text.is_list(key)) return std::ssize(text.json().at(std::string(key)));
  }
  return 0;
}

std::int64_t read_tables(HfIntake& in) {
  ModelSpec& m = in.model;
  m.hidden = in.text.integer({"hidden_size", "n_embd", "d_model", "dim"});
  m.vocab = in.text.integer({"vocab_size", "padded_vocab_size"});
  const std::int64_t layers = count_layers(in.text);
  if (layers == 0) in.text.missing("num_hidden_layers");
  if (layers > kMostLayers) {
    throw in.text.error("num_hidden_layers", fmt::format("at most {}", kMostLayers));
  }
  if (m.hidden > kWidest) throw in.text.error("hidden_size", fmt::format("at most {}", kWidest));
  m.dtype = read_dtype(in);
  m.tie_embeddings = read_tied(in);
  m.max_position = read_max_position(in.text);
  read_gemma3_rotary(in.text, m);
  if (in.traits.position_rows >= 0) m.position_rows = m.max_position + in.traits.position_rows;
  m.layer_norm = in.traits.layer_norm;
  m.head_bias = in.traits.head_bias;
  m.embedding_format = in.format();
  m.head_format = in.format();
  return std::max<std::int64_t>(1, layers);
}

void add_mtp(HfIntake& in, std::int64_t layers, const LayerKind& kind, bool own_tables) {
  if (layers == 0) return;
  if (layers > kMostPredicted) {
    throw ConfigError(Complaint{
        .origin = in.root.log().file,
        .problem =
            fmt::format("{} multi-token prediction layers: at most {}", layers, kMostPredicted)});
  }
  const std::int64_t h = in.model.hidden;
  in.mtp.layers = layers;
  in.mtp.kind = kind;
  // eh_proj with the norms of both inputs and of the output (DeepSeek V3 report, section 2.2).
  const std::int64_t tables = own_tables ? 2 * in.model.vocab * h : 0;
  in.mtp.extra_params = layers * (2 * h * h + 3 * h + tables);
  in.note(fmt::format("{} multi-token prediction layer{} shipped, not loaded", layers,
                      layers == 1 ? " is" : "s are"));
}

}  // namespace headroom
