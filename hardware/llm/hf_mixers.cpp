// What each layer mixes its tokens with, as configs state it: words per layer, indices, periods.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "hardware/llm/hf_reader.hpp"
#include "sim/kernel/nearest_name.hpp"

namespace headroom {
namespace {

// Transformers' layer types (configuration_utils.py: ALLOWED_ATTN_LAYER_TYPES and those before),
// and words of repositories that bring their own code.
constexpr std::array<std::pair<std::string_view, HfMixer>, 31> kMixerWords{{
    {"full_attention", HfMixer::full},
    {"attention", HfMixer::full},
    {"full", HfMixer::full},
    {"global_attention", HfMixer::full},
    {"global", HfMixer::full},
    {"sliding_attention", HfMixer::sliding},
    {"sliding_window_attention", HfMixer::sliding},
    {"local_attention", HfMixer::sliding},
    {"sliding", HfMixer::sliding},
    {"local", HfMixer::sliding},
    {"swa", HfMixer::sliding},
    {"chunked_attention", HfMixer::chunked},
    {"indexed_attention", HfMixer::sparse},
    {"sparse_attention", HfMixer::sparse},
    {"deepseek_sparse_attention", HfMixer::sparse},
    {"qwen_sparse_attention", HfMixer::sparse},
    {"minimax_m3_sparse", HfMixer::sparse},
    {"linear_attention", HfMixer::recurrent},
    {"lightning_attention", HfMixer::recurrent},
    {"gated_delta_net", HfMixer::recurrent},
    {"gated_deltanet", HfMixer::recurrent},
    {"gdn", HfMixer::recurrent},
    {"kda", HfMixer::recurrent},
    {"mamba", HfMixer::recurrent},
    {"mamba2", HfMixer::recurrent},
    {"recurrent", HfMixer::recurrent},
    {"conv", HfMixer::recurrent},
    {"short_conv", HfMixer::recurrent},
    {"hybrid", HfMixer::full_and_recurrent},
    {"hybrid_sliding", HfMixer::sliding_and_recurrent},
    {"no_op", HfMixer::none},
}};

std::string known_words() {
  std::vector<std::string> words;
  words.reserve(kMixerWords.size());
  for (const auto& [word, mixer] : kMixerWords) words.emplace_back(word);
  return "each one of " + comma_list(words);
}

std::vector<HfMixer> mixers_of_words(const HfFields& text, std::string_view key,
                                     const std::vector<std::string>& words) {
  std::vector<HfMixer> mixers;
  mixers.reserve(words.size());
  for (const std::string& word : words) {
    const auto* const row =
        std::ranges::find(kMixerWords, word, [](const auto& r) { return r.first; });
    if (row == kMixerWords.end()) {
      throw text.error(key, fmt::format("\"{}\" is not known: {}", word, known_words()));
    }
    mixers.push_back(row->second);
  }
  return mixers;
}

// `listed` at the layers of `key`, counted from `first`, `other` elsewhere.
std::vector<HfMixer> mixers_of_indices(const HfFields& fields, std::string_view key,
                                       std::int64_t layers, std::int64_t first, HfMixer listed,
                                       HfMixer other) {
  std::vector<HfMixer> mixers(static_cast<std::size_t>(layers), other);
  for (const std::int64_t layer : fields.integers(key)) {
    if (layer < first || layer >= layers + first) {
      throw fields.error(key, fmt::format("layers from {} to {}", first, layers + first - 1));
    }
    mixers[static_cast<std::size_t>(layer - first)] = listed;
  }
  return mixers;
}

// One number per layer; `yes` where it is `value`. More entries than layers are of prediction
// layers.
std::vector<HfMixer> mixers_of_numbers(const HfFields& fields, std::string_view key,
                                       std::int64_t layers, std::int64_t value, HfMixer yes,
                                       HfMixer no) {
  const std::vector<std::int64_t> numbers = fields.integers(key);
  if (std::ssize(numbers) < layers) {
    throw fields.error(key, fmt::format("one entry per layer ({})", layers));
  }
  std::vector<HfMixer> mixers(static_cast<std::size_t>(layers), no);
  for (std::size_t i = 0; i < mixers.size(); ++i) {
    if (numbers[i] == value) mixers[i] = yes;
  }
  return mixers;
}

// Every `period`-th layer is full, counted from `offset`; the rest is `other`.
std::vector<HfMixer> periodic_mixers(std::int64_t layers, std::int64_t period, std::int64_t offset,
                                     HfMixer other) {
  std::vector<HfMixer> mixers(static_cast<std::size_t>(layers), other);
  for (std::int64_t i = 0; i < layers; ++i) {
    if (i % period == offset) mixers[static_cast<std::size_t>(i)] = HfMixer::full;
  }
  return mixers;
}

std::int64_t read_period(const HfFields& text, std::string_view key) {
  return std::max<std::int64_t>(1, text.integer_or({key}, 1));
}

// Recurrent layers between full ones, where the config has no words for them; empty: it says
// nothing of the kind.
std::vector<HfMixer> hybrid_mixers(const HfFields& text, std::int64_t layers) {
  constexpr HfMixer kFull = HfMixer::full;
  constexpr HfMixer kOther = HfMixer::recurrent;
  if (const std::optional<HfFields> linear = text.object("linear_attn_config")) {
    if (linear->has("full_attn_layers")) {
      return mixers_of_indices(*linear, "full_attn_layers", layers, 1, kFull, kOther);
    }
    if (linear->has("kda_layers")) {
      return mixers_of_indices(*linear, "kda_layers", layers, 1, kOther, kFull);
    }
  }
  for (const std::string_view key : {"attn_layer_indices", "full_attn_idxs"}) {
    if (text.is_list(key)) return mixers_of_indices(text, key, layers, 0, kFull, kOther);
  }
  if (text.is_list("attn_type_list")) {  // MiniMax-Text-01
    return mixers_of_numbers(text, "attn_type_list", layers, 1, kFull, kOther);
  }
  if (text.has("attn_layer_period")) {
    return periodic_mixers(layers, read_period(text, "attn_layer_period"),
                           text.integer_or({"attn_layer_offset"}, 0), kOther);
  }
  if (text.has("full_attention_interval") || text.has("linear_num_value_heads")) {
    const std::int64_t every =  // Qwen3NextConfig: 4
        std::max<std::int64_t>(1, text.integer_or({"full_attention_interval"}, 4));
    return periodic_mixers(layers, every, every - 1, kOther);
  }
  if (text.has("layer_group_size")) {  // Ling: what is left of the last group is full, too
    const std::int64_t every = read_period(text, "layer_group_size");
    std::vector<HfMixer> mixers = periodic_mixers(layers, every, every - 1, kOther);
    std::fill(mixers.begin() + static_cast<std::ptrdiff_t>(layers / every * every), mixers.end(),
              kFull);
    return mixers;
  }
  return {};
}

std::vector<HfMixer> sliding_mixers(const HfIntake& in, std::int64_t layers) {
  const HfFields& text = in.text;
  if (text.is_list("hybrid_layer_pattern")) {  // MiMo-V2
    return mixers_of_numbers(text, "hybrid_layer_pattern", layers, 1, HfMixer::sliding,
                             HfMixer::full);
  }
  if (text.has("global_attn_every_n_layers")) {
    const std::int64_t every = read_period(text, "global_attn_every_n_layers");
    return periodic_mixers(layers, every, every - 1, HfMixer::sliding);
  }
  std::vector<HfMixer> mixers;
  for (const std::int64_t window : layer_windows(in, layers)) {
    mixers.push_back(window > 0 ? HfMixer::sliding : HfMixer::full);
  }
  return mixers;
}

// Layers that attend to everything, but through an indexer.
void mark_sparse(const HfIntake& in, std::vector<HfMixer>& mixers) {
  const auto layers = static_cast<std::int64_t>(mixers.size());
  std::vector<HfMixer> sparse(mixers.size(), HfMixer::sparse);
  if (const std::optional<HfFields> fields = in.text.object("sparse_attention_config")) {
    if (!fields->flag("use_sparse_attention", true)) return;
    if (fields->is_list("sparse_attention_freq")) {
      sparse = mixers_of_numbers(*fields, "sparse_attention_freq", layers, 1, HfMixer::sparse,
                                 HfMixer::full);
    }
  } else if (!in.text.has("index_topk") && !in.text.has("index_topk_blocks")) {
    return;
  }
  for (std::size_t i = 0; i < mixers.size(); ++i) {
    if (mixers[i] == HfMixer::full) mixers[i] = sparse[i];
  }
}

}  // namespace

std::vector<HfMixer> read_mixers(const HfIntake& in, std::int64_t layers) {
  for (const std::string_view key : {"layer_types", "layers_block_type", "attn_types"}) {
    const std::vector<std::string> words = read_layer_types(in.text, layers, key);
    if (words.empty()) continue;
    std::vector<HfMixer> mixers = mixers_of_words(in.text, key, words);
    // A config that lists its sparse layers leaves the others full.
    if (std::ranges::find(mixers, HfMixer::sparse) == mixers.end()) mark_sparse(in, mixers);
    return mixers;
  }
  std::vector<HfMixer> mixers = hybrid_mixers(in.text, layers);
  if (mixers.empty() && in.traits.unstated) {
    mixers.assign(static_cast<std::size_t>(layers), *in.traits.unstated);
  }
  if (mixers.empty()) {
    if (read_recurrent(in)) in.text.missing("layer_types");  // which layers, nothing says
    mixers = sliding_mixers(in, layers);
  }
  mark_sparse(in, mixers);
  return mixers;
}

}  // namespace headroom
