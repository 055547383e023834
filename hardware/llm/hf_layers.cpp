// Any text model, layer by layer: a mixer, then an MLP or experts, each of the parts that the
// config's fields describe.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "hardware/llm/hf_reader.hpp"

namespace headroom {
namespace {

// Fields that some configs state once per layer, as a list under their own or another name.
constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kPerLayer{{
    {"num_attention_heads", "num_attention_heads"},
    {"num_attention_heads_per_layer", "num_attention_heads"},
    {"num_query_heads", "num_attention_heads"},
    {"num_key_value_heads", "num_key_value_heads"},
    {"num_key_value_heads_per_layer", "num_key_value_heads"},
    {"num_kv_heads", "num_kv_heads"},
    {"head_dim", "head_dim"},
    {"intermediate_size", "intermediate_size"},
    {"moe_intermediate_size", "moe_intermediate_size"},
    {"moe_topk", "moe_topk"},
    {"num_experts", "num_experts"},
    {"num_experts_per_tok", "num_experts_per_tok"},
    {"num_shared_expert", "num_shared_expert"},
    {"sliding_window", "sliding_window"},
}};

// What one layer's fields say other than the config's: an object, empty for most.
std::vector<HfJson> layer_patches(const HfIntake& in, std::int64_t layers) {
  std::vector<HfJson> patches(static_cast<std::size_t>(layers), HfJson::object());
  for (const auto& [list, field] : kPerLayer) {
    if (!in.text.is_list(list)) continue;
    const HfJson& values = in.text.json().at(std::string(list));
    if (std::ssize(values) != layers) {
      throw in.text.error(list, fmt::format("one entry per layer ({})", layers));
    }
    for (std::size_t i = 0; i < patches.size(); ++i) patches[i][std::string(field)] = values[i];
  }
  const std::optional<HfFields> overrides = in.text.object("per_layer_config");
  if (!overrides) return patches;
  for (const auto& entry : overrides->json().items()) {  // {"02": {"num_attention_heads": 64}}
    const bool digits = !entry.key().empty() && entry.key().size() <= 6 &&
                        entry.key().find_first_not_of("0123456789") == std::string::npos;
    const std::int64_t layer = digits ? std::stoll(entry.key()) : layers;
    if (layer >= layers || !entry.value().is_object()) {
      throw overrides->error(entry.key(), fmt::format("an object for one of {} layers", layers));
    }
    patches[static_cast<std::size_t>(layer)].update(entry.value());
  }
  return patches;
}

// What sliding layers say of themselves beside the others (MiMo-V2, Step 3.5, Inkling).
void apply_sliding_sizes(const HfIntake& in, AttentionSpec& a) {
  const AttentionSpec full = a;
  const HfFields& text = in.text;
  a.q_heads =
      text.integer_or({"swa_num_attention_heads", "num_sliding_attention_heads"}, a.q_heads);
  a.kv_heads = text.integer_or({"swa_num_key_value_heads"}, a.kv_heads);
  a.head_dim = text.integer_or({"swa_head_dim"}, a.head_dim);
  a.v_head_dim = text.integer_or(
      {"swa_v_head_dim"},
      text.has("swa_head_dim") && !text.has("v_head_dim") ? a.head_dim : a.v_head_dim);
  if (const std::optional<HfFields> other = text.object("attention_other_setting")) {
    a.q_heads = other->integer_or({"num_attention_heads"}, a.q_heads);
    a.kv_heads = other->integer_or({"num_attention_groups"}, a.kv_heads);
    a.head_dim = a.v_head_dim = other->integer_or({"head_dim"}, a.head_dim);
  }
  if (a.q_heads < 1 || a.kv_heads < 1 || a.head_dim < 1 || a.q_heads % a.kv_heads != 0) {
    throw text.error("swa_num_key_value_heads",
                     fmt::format("a divisor of the {} attention heads", a.q_heads));
  }
  a.sinks = text.flag("add_swa_attention_sink_bias", full.sinks);
}

void apply_window(const HfIntake& in, HfMixer mixer, AttentionSpec& a) {
  if (mixer == HfMixer::chunked) {
    const std::int64_t chunk = in.text.integer_or({"attention_chunk_size"}, 8192);
    if (chunk >= in.model.max_position) return;
    a.window_tokens = chunk;
    a.chunked = true;
    return;
  }
  const std::int64_t window = read_window(in.text);
  if (window == 0) in.text.missing("sliding_window");
  if (window < in.model.max_position) a.window_tokens = window;
}

bool is_gated_attention(const HfIntake& in) {
  for (const std::string_view key :
       {"attn_output_gate", "attention_output_gate", "mla_use_output_gate"}) {
    if (in.text.has(key)) return in.text.flag(key, false);
  }
  return in.traits.output_gate;
}

AttentionSpec layer_attention(const HfIntake& in, HfMixer mixer, std::int64_t layer) {
  const bool latent = in.text.integer_or({"kv_lora_rank"}, 0) > 0;
  AttentionSpec a = latent ? read_latent_attention(in) : read_attention(in);
  a.indexer.reset();
  const bool sliding = mixer == HfMixer::sliding || mixer == HfMixer::sliding_and_recurrent;
  if (sliding || mixer == HfMixer::chunked) apply_window(in, mixer, a);
  if (sliding && !latent) apply_sliding_sizes(in, a);
  if (!sliding) a.sinks = in.text.flag("add_full_attention_sink_bias", a.sinks);
  a.output_gate = is_gated_attention(in);
  if (in.text.flag("use_head_wise_attn_gate", false)) {  // Step 3.5: one value per head
    a.extra_params += in.model.hidden * a.q_heads;
  }
  if (mixer != HfMixer::sparse) return a;
  a.indexer = read_indexer(in);
  if (!a.indexer) in.text.missing("index_topk");
  if (a.indexer && shares_indexer(in, layer)) a.indexer->shared = true;
  // IndexerSpec counts a weight per head, which MiniMax-M3 has not.
  if (a.indexer && a.indexer->key_bytes > 0) {
    a.extra_params -= in.model.hidden * a.indexer->heads;
  }
  return a;
}

RecurrentSpec layer_recurrent(const HfIntake& in) {
  if (const std::optional<RecurrentSpec> recurrent = read_recurrent(in)) return *recurrent;
  throw in.text.error("layer_types",
                      "a state needs its sizes: linear_num_value_heads and the like (gated delta), "
                      "linear_num_heads (Kimi delta), mamba_num_heads, conv_L_cache");
}

// Inkling convolves keys, values and outputs over a few positions: less than a thousandth of its
// weights, and as little of its cache.
bool only_convolves(const HfIntake& in) {
  if (read_recurrent(in) || !in.text.has("conv_kernel_size")) return false;
  in.note(fmt::format("convolutions over {} positions beside attention are not counted",
                      in.text.integer({"conv_kernel_size"})));
  return true;
}

// The parts of one layer, as `in.text` states them for it.
LayerKind layer_of(const HfIntake& in, HfMixer mixer, bool experts, std::int64_t layer) {
  LayerKind kind;
  kind.norms = in.traits.norms;
  const bool both = mixer == HfMixer::full_and_recurrent || mixer == HfMixer::sliding_and_recurrent;
  if (mixer == HfMixer::recurrent || (both && !only_convolves(in))) {
    kind.recurrent = layer_recurrent(in);
  }
  if (mixer != HfMixer::none && mixer != HfMixer::recurrent) {
    kind.attention = layer_attention(in, mixer, layer);
    kind.extra_params += full_norm_params(in.traits, *kind.attention);
  }
  if (kind.recurrent && kind.recurrent->family == RecurrentSpec::Family::mamba1) {
    kind.extra_params += kind.recurrent->dt_rank + 2 * kind.recurrent->key_head_dim;  // Jamba
  }
  if (const auto streams = in.text.bounded("hc_mult", 0, 64); streams > 0) {
    kind.extra_params += hyper_connection_params(in, streams);
    kind.residual_streams = streams;
  }
  if (experts) kind.moe = read_moe(in);
  // Grok: an MLP beside the experts of each layer.
  if (!experts || in.text.flag("residual_moe", false)) kind.mlp = read_mlp(in, read_ffn(in));
  return kind;
}

// Layers whose fields are equal are read once.
class LayerReader {
 public:
  explicit LayerReader(const HfIntake& in) : in_(in) {}

  [[nodiscard]] LayerKind read(const HfJson& patch, HfMixer mixer, bool experts,
                               std::int64_t layer) {
    std::string same = patch.empty() ? "" : patch.dump();
    same += static_cast<char>('a' + static_cast<int>(mixer));
    same += experts ? 'e' : 'm';
    same += mixer == HfMixer::sparse && shares_indexer(in_, layer) ? 's' : 'o';
    const auto found = known_.find(same);
    if (found != known_.end()) return found->second;
    return known_.emplace(std::move(same), read_new(patch, mixer, experts, layer)).first->second;
  }

 private:
  [[nodiscard]] LayerKind read_new(const HfJson& patch, HfMixer mixer, bool experts,
                                   std::int64_t layer) const {
    if (patch.empty()) return layer_of(in_, mixer, experts, layer);
    HfJson patched = in_.text.json();
    patched.update(patch);
    const HfIntake one{
        in_.traits, in_.root, HfFields(patched, in_.text.pointer(), in_.text.log()), in_.model, {}};
    return layer_of(one, mixer, experts, layer);
  }

  const HfIntake& in_;
  std::map<std::string, LayerKind> known_;
};

std::int64_t mtp_layers(const HfFields& text) {
  return text.integer_or({"mtp_num_hidden_layers", "num_nextn_predict_layers"}, 0);
}

bool ships_mtp_tables(const HfIntake& in, const LayerKind& last) {
  return in.text.flag("mtp_use_dedicated_embeddings",
                      in.traits.mtp_tables.value_or(last.moe.has_value()));
}

}  // namespace

std::int64_t hyper_connection_params(const HfIntake& in, std::int64_t streams) {
  // From all streams to the weights that mix them (DeepSeek V4 inference code, HyperConnection).
  return 2 * (2 + streams) * streams * (streams * in.model.hidden + 1);
}

void read_layers(HfIntake& in) {
  const std::int64_t layers = read_tables(in);
  in.root.log().check_complete();
  const std::vector<HfMixer> mixers = read_mixers(in, layers);
  const std::vector<bool> experts = moe_layers(in, layers);
  const std::vector<HfJson> patches = layer_patches(in, layers);
  LayerReader reader(in);
  std::vector<LayerKind> kinds;
  kinds.reserve(mixers.size());
  for (std::size_t i = 0; i < mixers.size(); ++i) {
    kinds.push_back(reader.read(patches[i], mixers[i], experts[i], static_cast<std::int64_t>(i)));
  }
  for (const LayerKind& kind : kinds) add_layers(in.model, kind, 1);

  // Prediction layers attend, whatever the last layer does.
  LayerKind last = kinds.back();
  for (auto kind = kinds.rbegin(); kind != kinds.rend() && !last.attention; ++kind) {
    if (!kind->attention) continue;
    last.attention = kind->attention;
    last.recurrent.reset();
  }
  add_mtp(in, mtp_layers(in.text), last, ships_mtp_tables(in, last));
}

}  // namespace headroom
