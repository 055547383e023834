// Pruned models (Nemotron-NAS, "DeciLM"): every layer states its own attention and MLP, or that it
// has none.

#include <fmt/format.h>

#include <algorithm>

#include "hardware/llm/hf_reader.hpp"

namespace headroom {
namespace {

HfFields block_part(const HfFields& block, std::string_view key) {
  const std::optional<HfFields> part = block.object(key);
  if (!part) throw block.error(key, "an object");
  return *part;
}

// A part replaced by one matrix of hidden times hidden.
bool is_linear(const HfFields& part) { return part.flag("replace_with_linear", false); }

void read_block_attention(const HfIntake& in, const HfFields& part, LayerKind& kind) {
  if (part.flag("no_op", false)) return;
  if (is_linear(part)) {
    kind.extra_params += in.model.hidden * in.model.hidden;
    return;
  }
  if (part.has("mamba"))
    throw part.error("mamba", "null: states in pruned layers are not modelled");
  AttentionSpec a = read_attention(in);
  if (part.has("num_key_value_heads")) {
    a.kv_heads = part.integer({"num_key_value_heads"});
  } else {
    a.kv_heads = a.q_heads / std::max<std::int64_t>(1, part.integer({"n_heads_in_group"}));
  }
  if (a.kv_heads < 1 || a.q_heads % a.kv_heads != 0) {
    throw part.error(part.has("num_key_value_heads") ? "num_key_value_heads" : "n_heads_in_group",
                     fmt::format("a divisor of the {} attention heads", a.q_heads));
  }
  const std::int64_t window = part.integer_or({"window_length"}, 0);
  if (window > 0 && window < in.model.max_position) a.window_tokens = window;
  kind.attention = a;
}

// DeciLM's rule: two thirds of the multiple, up to a whole 256.
std::int64_t width_of_multiple(const HfIntake& in, const HfFields& part) {
  const double multiple = part.number("ffn_mult").value_or(0);
  if (!(multiple > 0 && multiple <= 1024)) throw part.error("ffn_mult", "above 0, up to 1024");
  const auto hidden = static_cast<double>(in.model.hidden);
  const auto width = static_cast<std::int64_t>(2.0 * multiple * hidden / 3.0);
  return (width + 255) / 256 * 256;
}

MoeSpec read_block_experts(const HfIntake& in, const HfFields& moe) {
  MoeSpec spec;
  spec.experts = moe.integer({"num_local_experts"});
  spec.top_k = moe.integer({"num_experts_per_tok"});
  spec.ffn = moe.integer({"expert_intermediate_dim", "expert_intermediate_size"});
  spec.shared_ffn = moe.integer_or({"shared_expert_intermediate_dim"}, 0);
  if (spec.experts > 65536 || spec.top_k > spec.experts) {
    throw moe.error("num_local_experts", "from num_experts_per_tok to 65536");
  }
  spec.gated = in.traits.gated;
  spec.format = spec.shared_format = in.format();
  return spec;
}

void read_block_ffn(const HfIntake& in, const HfFields& part, LayerKind& kind) {
  if (part.flag("no_op", false)) return;
  if (is_linear(part)) {
    kind.extra_params += in.model.hidden * in.model.hidden;
    return;
  }
  if (const std::optional<HfFields> moe = part.object("moe")) {
    kind.moe = read_block_experts(in, *moe);
    return;
  }
  const bool stated = part.has("intermediate_size");
  kind.mlp =
      read_mlp(in, stated ? part.integer({"intermediate_size"}) : width_of_multiple(in, part));
}

}  // namespace

void read_block_configs(HfIntake& in) {
  const std::int64_t layers = read_tables(in);
  const HfJson& blocks = in.text.json().at("block_configs");
  if (!blocks.is_array() || std::ssize(blocks) != layers) {
    throw in.text.error("block_configs", fmt::format("one entry per layer ({})", layers));
  }
  in.root.log().check_complete();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (!blocks[i].is_object()) throw in.text.error("block_configs", "a list of objects");
    const HfFields block(blocks[i], fmt::format("{}/block_configs/{}", in.text.pointer(), i),
                         in.text.log());
    LayerKind kind;
    kind.norms = 0;
    read_block_attention(in, block_part(block, "attention"), kind);
    read_block_ffn(in, block_part(block, "ffn"), kind);
    kind.norms = (kind.attention ? 1 : 0) + (kind.mlp || kind.moe ? 1 : 0);
    add_layers(in.model, kind, 1);
  }
}

}  // namespace headroom
