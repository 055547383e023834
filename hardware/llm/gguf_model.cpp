// Names of tensors and keys: llama.cpp's src/llama-arch.cpp; which layers have windows where no key
// says so: its src/llama-model.cpp (set_swa_pattern).

#include "hardware/llm/gguf_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <utility>

#include "hardware/llm/gguf_header.hpp"
#include "hardware/llm/parameters.hpp"

namespace headroom {
namespace {

constexpr std::int64_t kMostGgufLayers = 10'000;

using Tensors = std::map<std::string, const GgufTensor*, std::less<>>;  // by name in its layer

struct GgufLayers {
  std::vector<Tensors> layers;
  Tensors outside;
};

// "blk.12.attn_q.weight" as 12 and "attn_q.weight"; nothing for tensors of no layer.
std::optional<std::pair<std::int64_t, std::string>> layer_name(const std::string& name) {
  if (!name.starts_with("blk.")) return std::nullopt;
  std::int64_t layer = 0;
  const char* const begin = name.data() + 4;
  const char* const end = name.data() + name.size();
  const auto [at, error] = std::from_chars(begin, end, layer);
  if (error != std::errc{} || layer < 0 || at == end || *at != '.') return std::nullopt;
  return std::pair{layer, std::string(at + 1, end)};
}

GgufLayers by_layer(const GgufHeader& header, std::int64_t blocks) {
  GgufLayers sorted;
  sorted.layers.resize(static_cast<std::size_t>(blocks));
  for (const GgufTensor& tensor : header.tensors()) {
    const auto place = layer_name(tensor.name);
    if (!place) {
      sorted.outside[tensor.name] = &tensor;
    } else if (place->first < blocks) {
      sorted.layers[static_cast<std::size_t>(place->first)][place->second] = &tensor;
    } else {
      throw header.error("block_count",
                         fmt::format("{}, but there is a tensor {}", blocks, tensor.name));
    }
  }
  return sorted;
}

bool has_part(std::string_view name, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return name.starts_with(part); });
}

ModelPart part_in_layer(std::string_view name) {
  const bool bias = name.ends_with(".bias");
  if (has_part(name, {"ffn_gate_exps", "ffn_up_exps", "ffn_down_exps", "ffn_gate_up_exps"})) {
    return bias ? ModelPart::expert_bias : ModelPart::experts;
  }
  if (has_part(name, {"ffn_gate_inp", "exp_probs_b"})) return ModelPart::router;
  if (bias || name.find("norm") != std::string_view::npos) return ModelPart::small;
  if (has_part(name, {"ffn_gate_shexp", "ffn_up_shexp", "ffn_down_shexp", "ffn_gate_up_shexp",
                      "ffn_latent"})) {
    return ModelPart::shared_experts;
  }
  if (has_part(name, {"ffn_gate", "ffn_up", "ffn_down"})) return ModelPart::dense_mlp;
  if (has_part(name, {"ssm_", "shortconv", "time_mix"})) return ModelPart::recurrent;
  if (has_part(name, {"attn_", "indexer"})) return ModelPart::attention;
  return ModelPart::small;
}

ModelPart part_outside(std::string_view name) {
  if (name == "output.weight") return ModelPart::lm_head;
  if (has_part(name, {"token_embd.weight", "position_embd", "per_layer_token_embd"})) {
    return ModelPart::embedding;
  }
  if (has_part(name, {"v.", "mm.", "a."})) return ModelPart::vision;
  return ModelPart::small;
}

const GgufTensor* find_tensor(const Tensors& tensors, std::string_view name) {
  const auto found = tensors.find(name);
  return found == tensors.end() ? nullptr : found->second;
}

// The format with most bytes among the tensors of a part.
WeightFormat main_format(const Tensors& tensors, ModelPart part, WeightFormat fallback) {
  std::vector<std::pair<WeightFormat, ByteCount>> sums;
  for (const auto& [name, tensor] : tensors) {
    if (part_in_layer(name) != part) continue;
    auto sum = std::ranges::find(sums, tensor->format, &std::pair<WeightFormat, ByteCount>::first);
    if (sum == sums.end()) sum = sums.insert(sums.end(), {tensor->format, 0});
    sum->second += tensor->bytes;
  }
  if (sums.empty()) return fallback;
  return std::ranges::max_element(sums, {}, &std::pair<WeightFormat, ByteCount>::second)->first;
}

class GgufModelReader {
 public:
  explicit GgufModelReader(const GgufHeader& header) : header_(header) {}

  [[nodiscard]] ModelSpec read() {
    const std::int64_t blocks = header_.integer("block_count");
    if (blocks > kMostGgufLayers) {
      throw header_.error("block_count", fmt::format("{}: at most {}", blocks, kMostGgufLayers));
    }
    const std::int64_t predicted = header_.find_integer("nextn_predict_layers").value_or(0);
    if (predicted < 0 || predicted >= blocks) {
      throw header_.error("nextn_predict_layers",
                          fmt::format("{} of {} layers", predicted, blocks));
    }
    sorted_ = by_layer(header_, blocks);
    read_tables();
    read_windows(blocks - predicted);
    StoredWeights stored;
    for (std::int64_t i = 0; i < blocks; ++i) {
      const Tensors& tensors = sorted_.layers[static_cast<std::size_t>(i)];
      PartBytes bytes{};
      for (const auto& [name, tensor] : tensors) add(part_in_layer(name), *tensor, bytes);
      if (i >= blocks - predicted) {
        for (const ByteCount part : bytes) stored.unloaded += part;
        continue;
      }
      stored.layers.push_back(bytes);
      add_layers(model_, layer(tensors, static_cast<std::size_t>(i)), 1);
    }
    for (const auto& [name, tensor] : sorted_.outside) {
      // Factors of the rotary embedding are used by every layer.
      PartBytes& bytes = name.starts_with("rope_") ? stored.layers.front() : stored.outside;
      add(part_outside(name), *tensor, bytes);
    }
    if (!is_countable(model_)) {
      throw header_.error("block_count", "the sizes make more than 10^15 parameters");
    }
    model_.unloaded_bytes = stored.unloaded;
    model_.stored = std::move(stored);
    add_notes();
    return std::move(model_);
  }

 private:
  static void add(ModelPart part, const GgufTensor& tensor, PartBytes& bytes) {
    bytes[static_cast<std::size_t>(part)] += tensor.bytes;
  }

  [[nodiscard]] ConfigError error(std::string_view tensor, std::string_view problem) const {
    return ConfigError(Complaint{.origin = header_.file(),
                                 .problem = fmt::format("tensor {}: {}", tensor, problem)});
  }

  void read_tables() {
    const GgufTensor* table = find_tensor(sorted_.outside, "token_embd.weight");
    if (table == nullptr) throw error("token_embd.weight", "missing: no language model");
    const GgufTensor* head = find_tensor(sorted_.outside, "output.weight");
    model_.architecture = header_.architecture();
    model_.source = header_.file();
    model_.hidden = header_.integer("embedding_length");
    model_.vocab = table->size(1);
    model_.max_position = header_.find_integer("context_length").value_or(0);
    if (model_.max_position < 1) throw header_.error("context_length", "missing or below 1");
    model_.tie_embeddings = head == nullptr;
    model_.dtype = table->format.dtype == Dtype::bf16 ? Dtype::bf16 : Dtype::fp16;
    model_.embedding_format = table->format;
    model_.head_format = head == nullptr ? table->format : head->format;
    if (table->size(0) != model_.hidden) {
      throw error("token_embd.weight",
                  fmt::format("rows of {} for a width of {}", table->size(0), model_.hidden));
    }
    if (const GgufTensor* rows = find_tensor(sorted_.outside, "position_embd.weight")) {
      model_.position_rows = rows->size(1);
    }
  }

  void read_windows(std::int64_t layers) {
    windows_.assign(static_cast<std::size_t>(layers), 0);
    const std::int64_t window = header_.find_integer("attention.sliding_window").value_or(0);
    if (window < 1 || window >= model_.max_position) return;
    constexpr std::array<std::pair<std::string_view, std::int64_t>, 12> kEvery{
        {{"gemma2", 2},
         {"gemma3", 6},
         {"gemma3n", 5},
         {"cohere2", 4},
         {"exaone4", 4},
         {"exaone-moe", 4},
         {"gpt-oss", 2},
         {"olmo2", 4},
         {"smallthinker", 4},
         {"afmoe", 4},
         {"gemma-embedding", 6},
         {"plamo3", 8}}};
    const std::string_view key = "attention.sliding_window_pattern";
    const auto* const known = std::ranges::find(kEvery, std::string_view(header_.architecture()),
                                                [](const auto& row) { return row.first; });
    std::int64_t every = known == kEvery.end() ? 0 : known->second;
    if (!header_.is_list(key)) every = header_.find_integer(key).value_or(every);
    if (every < 1 && !header_.is_list(key)) {
      model_.notes.push_back(fmt::format(
          "{} declares a window of {} tokens without its layers: every layer is taken as full",
          header_.architecture(), window));
      return;
    }
    for (std::size_t i = 0; i < windows_.size(); ++i) {
      const bool slides = header_.is_list(key) ? header_.find_integer(key, i).value_or(0) != 0
                                               : (static_cast<std::int64_t>(i) + 1) % every != 0;
      if (slides) windows_[i] = window;
    }
  }

  [[nodiscard]] LayerKind layer(const Tensors& tensors, std::size_t index) const {
    LayerKind kind;
    kind.norms = 0;
    for (const auto& [name, tensor] : tensors) {
      const bool norm = name.ends_with("norm.weight") && tensor->size(0) == model_.hidden;
      if (norm && tensor->shape.size() == 1) ++kind.norms;
    }
    const bool recurrent =
        find_tensor(tensors, "ssm_out.weight") || find_tensor(tensors, "shortconv.conv.weight");
    if (find_tensor(tensors, "attn_kv_a_mqa.weight")) {
      kind.attention = latent_attention(tensors, index);
    } else if (find_tensor(tensors, "attn_output.weight")) {
      kind.attention = attention(tensors, index);
    }
    if (recurrent) kind.recurrent = recurrent_part(tensors);
    if (find_tensor(tensors, "ffn_down_exps.weight")) kind.moe = experts(tensors);
    if (find_tensor(tensors, "ffn_down.weight")) kind.mlp = mlp(tensors);
    if (!kind.attention && !kind.recurrent && !kind.moe && !kind.mlp) {
      throw error(fmt::format("blk.{}", index), "none of attention, state, MLP or experts");
    }
    return kind;
  }

  [[nodiscard]] std::int64_t width(const Tensors& tensors, std::string_view name) const {
    const GgufTensor* tensor = find_tensor(tensors, name);
    return tensor == nullptr ? 0 : tensor->size(1);
  }

  [[nodiscard]] AttentionSpec attention(const Tensors& tensors, std::size_t index) const {
    AttentionSpec a;
    a.q_heads = header_.integer("attention.head_count", index);
    const std::int64_t kv = header_.find_integer("attention.head_count_kv", index).value_or(0);
    a.kv_heads = kv > 0 ? kv : a.q_heads;
    a.window_tokens = windows_[index];
    const std::int64_t query = width(tensors, "attn_q.weight");
    const std::int64_t key = width(tensors, "attn_k.weight");
    a.head_dim = header_.find_integer("attention.key_length").value_or(0);
    a.v_head_dim = header_.find_integer("attention.value_length").value_or(0);
    a.output_gate = a.head_dim > 0 && query == 2 * a.q_heads * a.head_dim;
    // Layers of two head sizes (Gemma 4): the matrices are right.
    if (key > 0 && key % a.kv_heads == 0 && key != a.kv_heads * a.head_dim) {
      a.head_dim = key / a.kv_heads;
      a.v_head_dim = width(tensors, "attn_v.weight") / a.kv_heads;
    }
    if (a.head_dim < 1 && model_.hidden % a.q_heads == 0) a.head_dim = model_.hidden / a.q_heads;
    if (a.v_head_dim < 1) a.v_head_dim = a.head_dim;
    if (a.head_dim < 1 || a.kv_heads < 1 || a.q_heads % a.kv_heads != 0) {
      throw header_.error("attention.head_count_kv",
                          fmt::format("{} for {} heads in layer {}", a.kv_heads, a.q_heads, index));
    }
    a.shares_kv = key == 0 && find_tensor(tensors, "attn_qkv.weight") == nullptr;
    a.value_is_key = key > 0 && find_tensor(tensors, "attn_v.weight") == nullptr;
    a.qkv_bias = find_tensor(tensors, "attn_q.bias") || find_tensor(tensors, "attn_qkv.bias");
    a.o_bias = find_tensor(tensors, "attn_output.bias");
    const GgufTensor* norm = find_tensor(tensors, "attn_q_norm.weight");
    a.qk_norm = norm != nullptr && norm->size(0) == a.head_dim;
    a.norms_all_heads = norm != nullptr && !a.qk_norm;
    a.sinks = find_tensor(tensors, "attn_sinks.weight");
    a.format = main_format(tensors, ModelPart::attention, format_of(model_.dtype));
    return a;
  }

  [[nodiscard]] AttentionSpec latent_attention(const Tensors& tensors, std::size_t index) const {
    AttentionSpec a;
    a.q_heads = a.kv_heads = header_.integer("attention.head_count", index);
    MlaSpec mla;
    mla.kv_lora_rank = header_.integer("attention.kv_lora_rank");
    mla.q_lora_rank = width(tensors, "attn_q_a.weight");
    mla.qk_rope = header_.integer("rope.dimension_count");
    // Of a head; the plain keys are those of the latent cache where these are there.
    const bool own = header_.find_integer("attention.key_length_mla").has_value();
    a.head_dim = header_.integer(own ? "attention.key_length_mla" : "attention.key_length");
    mla.v_head = header_.integer(own ? "attention.value_length_mla" : "attention.value_length");
    if (a.head_dim < mla.qk_rope) {
      throw header_.error("attention.key_length", fmt::format("{}, less than the rotary part of {}",
                                                              a.head_dim, mla.qk_rope));
    }
    mla.qk_nope = a.head_dim - mla.qk_rope;
    a.v_head_dim = mla.v_head;
    a.mla = mla;
    if (find_tensor(tensors, "indexer.attn_k.weight")) {
      a.indexer = IndexerSpec{.heads = header_.integer("attention.indexer.head_count"),
                              .head_dim = header_.integer("attention.indexer.key_length"),
                              .top_k = header_.integer("attention.indexer.top_k")};
    }
    a.format = main_format(tensors, ModelPart::attention, format_of(model_.dtype));
    return a;
  }

  [[nodiscard]] RecurrentSpec recurrent_part(const Tensors& tensors) const {
    using Family = RecurrentSpec::Family;
    RecurrentSpec r;
    r.format = main_format(tensors, ModelPart::recurrent, format_of(model_.dtype));
    r.conv_dtype = r.state_dtype = Dtype::fp32;  // llama.cpp keeps states in 32 bit
    if (find_tensor(tensors, "shortconv.conv.weight")) {
      r.family = Family::short_convolution;
      r.value_heads = r.key_heads = 1;
      r.value_head_dim = model_.hidden;
      r.conv_kernel = header_.integer("shortconv.l_cache");
      return r;
    }
    const std::int64_t inner = header_.integer("ssm.inner_size");
    r.conv_kernel = header_.integer("ssm.conv_kernel");
    r.key_head_dim = header_.integer("ssm.state_size");
    if (find_tensor(tensors, "ssm_x.weight")) {
      r.family = Family::mamba1;
      r.value_heads = inner;
      r.value_head_dim = r.key_heads = 1;
      r.dt_rank = header_.integer("ssm.time_step_rank");
      return r;
    }
    const bool delta = find_tensor(tensors, "ssm_ba.weight") ||
                       find_tensor(tensors, "ssm_beta.weight") ||
                       find_tensor(tensors, "ssm_alpha.weight");
    r.family = delta ? Family::gated_delta_net : Family::mamba2;
    r.value_heads = header_.integer("ssm.time_step_rank");
    r.key_heads = header_.integer("ssm.group_count");
    r.value_head_dim = std::max<std::int64_t>(1, inner / r.value_heads);
    r.conv_bias = find_tensor(tensors, "ssm_conv1d.bias");
    return r;
  }

  [[nodiscard]] MoeSpec experts(const Tensors& tensors) const {
    MoeSpec moe;
    const GgufTensor& down = *find_tensor(tensors, "ffn_down_exps.weight");
    moe.experts = down.size(2);
    moe.ffn = down.size(0);
    moe.top_k = header_.integer("expert_used_count");
    if (moe.top_k > moe.experts) {
      throw header_.error("expert_used_count",
                          fmt::format("{} of {} experts per token", moe.top_k, moe.experts));
    }
    moe.gated = find_tensor(tensors, "ffn_gate_exps.weight") ||
                find_tensor(tensors, "ffn_gate_up_exps.weight");
    if (const GgufTensor* shared = find_tensor(tensors, "ffn_down_shexp.weight")) {
      moe.shared_ffn = shared->size(0);
    }
    moe.latent = down.size(1) == model_.hidden ? 0 : down.size(1);
    moe.shared_gate = find_tensor(tensors, "ffn_gate_inp_shexp.weight");
    moe.router_bias = find_tensor(tensors, "exp_probs_b.bias");
    moe.expert_bias = find_tensor(tensors, "ffn_down_exps.bias");
    moe.format = main_format(tensors, ModelPart::experts, format_of(model_.dtype));
    moe.shared_format = main_format(tensors, ModelPart::shared_experts, moe.format);
    return moe;
  }

  [[nodiscard]] MlpSpec mlp(const Tensors& tensors) const {
    MlpSpec mlp;
    mlp.ffn = find_tensor(tensors, "ffn_down.weight")->size(0);
    mlp.gated = find_tensor(tensors, "ffn_gate.weight") ||
                width(tensors, "ffn_up.weight") == 2 * mlp.ffn;  // both in one (Phi-3)
    mlp.bias = find_tensor(tensors, "ffn_down.bias");
    mlp.format = main_format(tensors, ModelPart::dense_mlp, format_of(model_.dtype));
    return mlp;
  }

  void add_notes() {
    if (header_.header_only()) {
      model_.notes.emplace_back("the file holds the header of the model without its weights");
    }
    if (model_.stored->unloaded > 0) {
      model_.notes.emplace_back("prediction layers of the file are not loaded");
    }
  }

  const GgufHeader& header_;
  GgufLayers sorted_;
  std::vector<TokenCount> windows_;
  ModelSpec model_;
};

}  // namespace

ModelSpec load_gguf(const std::filesystem::path& path) {
  const GgufHeader header = GgufHeader::read(path);
  ModelSpec model = GgufModelReader(header).read();
  model.id = path.stem().string();
  return model;
}

}  // namespace headroom
