// Decoders whose layers differ in more than window and experts: Llama 4, Gemma 3n, Gemma 4.

#include <fmt/format.h>

#include <algorithm>

#include "hardware/llm/hf_reader.hpp"

namespace headroom {
namespace {

// Llama 4: layers with rotary embedding attend in chunks, every fourth has none and sees all.
std::vector<bool> llama4_chunked(const HfIntake& in, std::int64_t layers) {
  std::vector<bool> chunked(static_cast<std::size_t>(layers));
  const std::vector<std::string> types = read_layer_types(in.text, layers);
  const std::vector<std::int64_t> rotary = in.text.integers("no_rope_layers");  // 1: has rotary
  const std::int64_t every =
      std::max<std::int64_t>(1, in.text.integer_or({"no_rope_layer_interval"}, 4));
  if (!rotary.empty() && std::ssize(rotary) != layers) {
    throw in.text.error("no_rope_layers", fmt::format("one entry per layer ({})", layers));
  }
  for (std::size_t i = 0; i < chunked.size(); ++i) {
    if (!types.empty()) {
      chunked[i] = types[i] == "chunked_attention";
    } else if (!rotary.empty()) {
      chunked[i] = rotary[i] == 1;
    } else {
      chunked[i] = (static_cast<std::int64_t>(i) + 1) % every != 0;
    }
  }
  return chunked;
}

// The last `num_kv_shared_layers` read the KV of an earlier layer of their type.
bool shares_kv(const HfIntake& in, std::int64_t layer, std::int64_t layers) {
  return layer >= layers - in.text.integer_or({"num_kv_shared_layers"}, 0);
}

void check_shared(const HfIntake& in, std::int64_t layers) {
  if (in.text.integer_or({"num_kv_shared_layers"}, 0) >= layers) {
    throw in.text.error("num_kv_shared_layers", fmt::format("fewer than {} layers", layers));
  }
}

AttentionSpec gemma4_attention(const HfIntake& in, std::int64_t window) {
  AttentionSpec a = read_attention(in);
  if (window > 0) {
    a.window_tokens = window;
    return a;
  }
  a.head_dim = a.v_head_dim = in.text.integer_or({"global_head_dim"}, a.head_dim);
  a.value_is_key = in.text.flag("attention_k_eq_v", false);
  if (a.value_is_key) {
    a.kv_heads = in.text.integer_or({"num_global_key_value_heads"}, a.kv_heads);
    if (a.kv_heads < 1 || a.q_heads % a.kv_heads != 0) {
      throw in.text.error("num_global_key_value_heads",
                          fmt::format("a divisor of the {} attention heads", a.q_heads));
    }
  }
  return a;
}

}  // namespace

void add_per_layer_inputs(HfIntake& in, std::int64_t width, std::int64_t layers) {
  if (width == 0) return;
  const std::int64_t h = in.model.hidden;
  const std::int64_t rows = in.text.integer_or({"vocab_size_per_layer_input"}, in.model.vocab);
  in.model.extra_embedding_params += rows * layers * width + h * layers * width + width;
  for (LayerKind& kind : in.model.kinds) kind.extra_params += 2 * h * width + h;
}

void read_llama4(HfIntake& in) {
  const std::int64_t layers = read_tables(in);
  const std::vector<bool> experts = moe_layers(in, layers);
  const std::vector<bool> chunked = llama4_chunked(in, layers);
  const std::int64_t chunk = in.text.integer_or({"attention_chunk_size"}, 8192);
  const std::int64_t dense = in.text.integer_or({"intermediate_size_mlp"}, read_ffn(in));
  const AttentionSpec attention = read_attention(in);  // its query-key norm has no weights
  for (std::size_t i = 0; i < chunked.size(); ++i) {
    LayerKind kind;
    kind.attention = attention;
    if (chunked[i] && chunk < in.model.max_position) {
      kind.attention->window_tokens = chunk;
      kind.attention->chunked = true;
    }
    if (experts[i]) {
      kind.moe = read_moe(in);
      kind.moe->shared_ffn = kind.moe->ffn;  // one shared expert of the same size
    } else {
      kind.mlp = read_mlp(in, dense);
    }
    add_layers(in.model, kind, 1);
  }
}

// LongCat: each layer has attention and an MLP twice; the experts run beside the first pair
// (Transformers modeling_longcat_flash.py: LongcatFlashDecoderLayer). Experts that pass their input
// on weigh nothing.
void read_longcat(HfIntake& in) {
  read_layers(in);
  const ModelSpec blocks = in.model;
  in.model.kinds.clear();
  in.model.order.clear();
  const MlpSpec mlp = read_mlp(in, in.text.integer({"ffn_hidden_size"}));
  // The router chooses among the experts without weights as well: a row and a bias each.
  const std::int64_t idle = in.text.bounded("zero_expert_num", 0, 65536);
  in.root.log().check_complete();
  for (std::size_t i = 0; i < blocks.order.size(); ++i) {
    LayerKind first = blocks.layer(i);
    first.mlp = mlp;
    LayerKind second = first;
    second.moe.reset();
    first.extra_params += idle * (in.model.hidden + 1);
    add_layers(in.model, first, 1);
    add_layers(in.model, second, 1);
  }
  if (idle > 0) {
    in.note(fmt::format(
        "{} of the router's choices are experts without weights: a token reads fewer than "
        "{} others, which are counted",
        idle, in.text.integer_or({"moe_topk"}, 1)));
  }
}

void read_gemma3n(HfIntake& in) {
  const std::int64_t layers = read_tables(in);
  check_shared(in, layers);
  const std::int64_t h = in.model.hidden;
  const std::int64_t streams = in.text.bounded("altup_num_inputs", 4, 64);
  const std::int64_t rank = in.text.integer_or({"laurel_rank"}, 64);
  const std::vector<std::int64_t> windows = layer_windows(in, layers);
  std::vector<std::int64_t> widths;
  if (in.text.is_list("intermediate_size")) widths = in.text.integers("intermediate_size");
  if (!widths.empty() && std::ssize(widths) != layers) {
    throw in.text.error("intermediate_size", fmt::format("one entry per layer ({})", layers));
  }
  for (std::int64_t i = 0; i < layers; ++i) {
    const auto at = static_cast<std::size_t>(i);
    LayerKind kind;
    kind.attention = read_attention(in);
    kind.attention->window_tokens = windows[at];
    kind.attention->shares_kv = shares_kv(in, i, layers);
    kind.mlp = read_mlp(in, widths.empty() ? read_ffn(in) : widths[at]);
    kind.norms = in.traits.norms;
    // LAuReL's two matrices and norm; AltUp's router, its norm and its mixing coefficients.
    kind.extra_params = 2 * h * rank + h + h * streams + h + streams * streams * (streams + 1) + h;
    add_layers(in.model, kind, 1);
  }
  add_per_layer_inputs(in, in.text.integer_or({"hidden_size_per_layer_input"}, 256), layers);
  in.model.extra_embedding_params += 2 * (streams - 1) * h * h;  // into and out of the streams
  in.note("Gemma 3n: the vision tower is not counted");
}

void read_gemma4(HfIntake& in) {
  const std::int64_t layers = read_tables(in);
  check_shared(in, layers);
  const std::int64_t h = in.model.hidden;
  const std::int64_t ffn = read_ffn(in);
  const bool double_wide = in.text.flag("use_double_wide_mlp", false);
  const bool experts = in.text.flag("enable_moe_block", false);
  const std::vector<std::int64_t> windows = layer_windows(in, layers);
  for (std::int64_t i = 0; i < layers; ++i) {
    const bool shared = shares_kv(in, i, layers);
    LayerKind kind;
    kind.attention = gemma4_attention(in, windows[static_cast<std::size_t>(i)]);
    kind.attention->shares_kv = shared;
    kind.mlp = read_mlp(in, shared && double_wide ? 2 * ffn : ffn);
    kind.norms = in.traits.norms;
    kind.extra_params = 1;  // layer_scalar
    if (experts) {  // beside the MLP, with three more norms and a scale on the router's input
      kind.moe = read_moe(in);
      kind.moe->shared_ffn = 0;
      kind.moe->router_bias = true;  // per_expert_scale: one value per expert as well
      kind.norms += 3;
      kind.extra_params += h;
    }
    add_layers(in.model, kind, 1);
  }
  add_per_layer_inputs(in, in.text.integer_or({"hidden_size_per_layer_input"}, 0), layers);
}

}  // namespace headroom
