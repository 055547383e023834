// Mixtures of experts: sizes of one layer, and which layers have one.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "hardware/llm/hf_reader.hpp"

namespace headroom {
namespace {

constexpr std::int64_t kMostExperts = 65536;

std::int64_t expert_count(const HfIntake& in) {
  return in.text.integer_or({"num_experts", "num_local_experts", "n_routed_experts",
                             "moe_num_experts", "num_routed_experts", "num_moe_experts"},
                            0);
}

std::int64_t read_shared_ffn(const HfIntake& in, const MoeSpec& moe) {
  const auto width = in.text.find_integer(
      {"shared_expert_intermediate_size", "moe_shared_expert_intermediate_size",
       "shared_experts_intermediate_size", "shared_intermediate_size", "share_expert_dim",
       "shared_expert_dim"});
  if (width) return *width;
  return moe.ffn * in.text.integer_or({"n_shared_experts", "num_shared_experts",
                                       "moe_num_shared_experts", "num_shared_expert"},
                                      0);
}

// first_k_dense_replace and its other names: the layers before it are dense.
std::int64_t first_moe_layer(const HfFields& text) {
  return text.integer_or({"first_k_dense_replace", "num_dense_layers", "moe_layer_start_index"}, 0);
}

// Transformers' words for what follows the mixer.
std::vector<bool> moe_words(const HfFields& text, std::int64_t layers) {
  std::vector<bool> result;
  for (const std::string& word : read_layer_types(text, layers, "mlp_layer_types")) {
    const bool moe = word == "sparse" || word == "moe" || word == "hash_moe";
    if (!moe && word != "dense" && word != "mlp") {
      throw text.error("mlp_layer_types", "each dense, mlp, sparse, moe or hash_moe");
    }
    result.push_back(moe);
  }
  return result;
}

// "3,4,5" (Step 3).
std::vector<bool> moe_list(const HfFields& text, std::int64_t layers) {
  std::vector<bool> result(static_cast<std::size_t>(layers), false);
  const std::string list = text.text("moe_layers_enum");
  std::int64_t layer = 0;
  const char* at = list.data();
  const char* const end = list.data() + list.size();
  while (at < end) {
    const auto [next, error] = std::from_chars(at, end, layer);
    const bool valid =
        error == std::errc{} && layer >= 0 && layer < layers && (next == end || *next == ',');
    if (!valid) {
      throw text.error("moe_layers_enum", fmt::format("layers below {}, with commas", layers));
    }
    result[static_cast<std::size_t>(layer)] = true;
    at = next == end ? end : next + 1;
  }
  return result;
}

}  // namespace

bool has_experts(const HfIntake& in) { return expert_count(in) > 0; }

MoeSpec read_moe(const HfIntake& in) {
  MoeSpec moe;
  moe.experts = expert_count(in);
  if (moe.experts == 0) in.text.missing("num_experts");
  moe.top_k =
      in.text.integer({"num_experts_per_tok", "num_experts_per_token", "experts_per_token",
                       "top_k_experts", "moe_topk", "moe_top_k", "moe_k", "num_selected_experts"});
  if (moe.experts > kMostExperts) {
    throw in.text.error("num_experts", fmt::format("at most {}", kMostExperts));
  }
  if (moe.top_k > moe.experts) {
    throw in.text.error("num_experts_per_tok",
                        fmt::format("{} of {} experts per token", moe.top_k, moe.experts));
  }
  moe.ffn = in.text.integer({"moe_intermediate_size", "expert_intermediate_size",
                             "expert_ffn_hidden_size", "moe_ffn_hidden_size", "intermediate_size",
                             "ffn_hidden_size"});
  moe.shared_ffn = read_shared_ffn(in, moe);
  moe.latent =
      in.text.integer_or({"moe_latent_size", "routed_expert_hidden_size", "moe_hidden_size"}, 0);
  moe.gated = in.traits.gated;
  moe.shared_gate = in.traits.shared_gate && moe.shared_ffn > 0;
  moe.router_bias = in.traits.router_bias || in.text.text("topk_method") == "noaux_tc" ||
                    in.text.flag("use_routing_bias", false) ||
                    in.text.flag("use_expert_bias", false) ||
                    in.text.flag("use_moe_router_bias", false) ||
                    in.text.flag("moe_router_enable_expert_bias", false);
  moe.expert_bias = in.traits.expert_bias;
  moe.format = in.format();
  moe.shared_format = in.format();
  return moe;
}

std::vector<bool> moe_layers(const HfIntake& in, std::int64_t layers) {
  const HfFields& text = in.text;
  if (text.is_list("mlp_layer_types")) return moe_words(text, layers);
  if (text.has("moe_layers_enum")) return moe_list(text, layers);
  std::vector<bool> result(static_cast<std::size_t>(layers), has_experts(in));
  if (!has_experts(in)) return result;
  const std::int64_t first = first_moe_layer(text);
  const std::int64_t last = text.integer_or({"moe_layer_end_index"}, layers);
  const std::int64_t step = std::max<std::int64_t>(
      1, text.integer_or({"decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_interval"},
                         1));
  const std::int64_t period = text.integer_or({"expert_layer_period"}, 1);
  const std::int64_t offset = text.integer_or({"expert_layer_offset"}, 0);
  const std::vector<std::int64_t> dense = text.integers("mlp_only_layers");
  const std::vector<std::int64_t> listed = text.integers("moe_layers");  // Llama 4
  std::vector<std::int64_t> pattern;
  std::int64_t every = 1;
  if (text.is_list("moe_layer_freq")) {
    pattern = text.integers("moe_layer_freq");
    if (std::ssize(pattern) != layers) {
      throw text.error("moe_layer_freq", fmt::format("one entry per layer ({})", layers));
    }
  } else {
    every = std::max<std::int64_t>(1, text.integer_or({"moe_layer_freq"}, 1));
  }
  for (std::int64_t i = 0; i < layers; ++i) {
    bool moe = i >= first && i <= last && (i + 1) % step == 0 && i % every == 0;
    moe = moe && (period <= 1 || i % period == offset);
    moe = moe && std::ranges::find(dense, i) == dense.end();
    if (!pattern.empty()) moe = pattern[static_cast<std::size_t>(i)] == 1;
    if (!listed.empty()) moe = std::ranges::find(listed, i) != listed.end();
    result[static_cast<std::size_t>(i)] = moe;
  }
  return result;
}

}  // namespace headroom
