#include "hardware/llm/hf_quantization.hpp"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "hardware/llm/hf_scheme.hpp"

namespace headroom {
namespace {

using Names = std::initializer_list<std::string_view>;

// A matrix as all spellings of it: every base with every leaf.
struct Matrix {
  std::int64_t elements = 0;
  std::vector<std::string> names;
};

Matrix matrix(std::int64_t elements, Names bases, Names leaves) {
  Matrix made{elements, {}};
  for (const std::string_view base : bases) {
    for (const std::string_view leaf : leaves) {
      made.names.push_back(std::string(base) + "." + std::string(leaf));
    }
  }
  return made;
}

std::vector<Matrix> attention_matrices(const AttentionSpec& a, std::int64_t hidden) {
  const Names bases{"self_attn", "attn", "mixer", "attention"};
  const std::int64_t out = a.q_heads * a.v_head_dim;
  if (a.mla) {
    const MlaSpec& mla = *a.mla;
    const std::int64_t up = a.q_heads * (mla.qk_nope + mla.v_head);
    const std::int64_t from = mla.q_lora_rank > 0 ? mla.q_lora_rank : hidden;
    return {matrix(mla.q_lora_rank * hidden, bases, {"q_a_proj", "fused_qkv_a_proj"}),
            matrix(from * a.q_heads * a.head_dim, bases, {"q_b_proj", "q_proj"}),
            matrix(hidden * (mla.kv_lora_rank + mla.qk_rope), bases, {"kv_a_proj_with_mqa"}),
            matrix(mla.kv_lora_rank * up, bases, {"kv_b_proj"}),
            matrix(out * hidden, bases, {"o_proj"})};
  }
  return {matrix(hidden * a.q_heads * a.head_dim, bases, {"q_proj", "qkv_proj", "wq_b"}),
          matrix(hidden * a.kv_heads * a.head_dim, bases, {"k_proj", "qkv_proj", "wkv"}),
          matrix(hidden * a.kv_heads * a.v_head_dim, bases, {"v_proj", "qkv_proj", "wkv"}),
          matrix(hidden * out, bases, {"o_proj", "out_proj", "wo_b"})};
}

std::vector<Matrix> recurrent_matrices(const RecurrentSpec& r, std::int64_t hidden) {
  const Names bases{"linear_attn", "mixer", "mamba", "self_attn", "conv"};
  const std::int64_t value = r.value_heads * r.value_head_dim;
  const std::int64_t key = r.key_heads * r.key_head_dim;
  if (r.family == RecurrentSpec::Family::gated_delta_net) {
    return {matrix(hidden * (2 * key + value), bases, {"in_proj_qkv", "in_proj_qkvz"}),
            matrix(hidden * value, bases, {"in_proj_z", "in_proj_qkvz"}),
            matrix(hidden * value, bases, {"out_proj"})};
  }
  if (r.family == RecurrentSpec::Family::kimi_delta_attention) {
    return {matrix(hidden * key, bases, {"q_proj"}), matrix(hidden * key, bases, {"k_proj"}),
            matrix(hidden * value, bases, {"v_proj"}), matrix(hidden * value, bases, {"o_proj"})};
  }
  return {matrix(hidden * 2 * value, bases, {"in_proj"}),
          matrix(hidden * value, bases, {"out_proj"})};
}

std::vector<Matrix> mlp_matrices(std::int64_t elements, Names bases) {
  return {matrix(elements, bases, {"up_proj", "gate_up_proj", "w3", "fc1", "c_fc"}),
          matrix(elements, bases, {"down_proj", "w2", "fc2", "c_proj"})};
}

const Names& mlp_bases() {
  static const Names bases{"mlp", "feed_forward", "mixer", "ffn"};
  return bases;
}
const Names& shared_bases() {
  static const Names bases{"mlp.shared_experts",         "mlp.shared_expert",
                           "feed_forward.shared_expert", "mixer.shared_experts",
                           "ffn.shared_experts",         "block_sparse_moe.shared_experts"};
  return bases;
}
const Names& expert_bases() {
  static const Names bases{"mlp.experts.0", "block_sparse_moe.experts.0", "mixer.experts.0",
                           "ffn.experts.0", "feed_forward.experts.0",     "experts.0"};
  return bases;
}

class Applier {
 public:
  Applier(const HfScheme& scheme, WeightFormat plain) : scheme_(scheme), plain_(plain) {}

  [[nodiscard]] LayerKind apply(LayerKind kind, std::int64_t layer, std::int64_t hidden) const {
    if (kind.attention && !scheme_.experts_only) {
      kind.attention->format = decide(layer, attention_matrices(*kind.attention, hidden));
    }
    if (kind.recurrent && !scheme_.experts_only) {
      kind.recurrent->format = decide(layer, recurrent_matrices(*kind.recurrent, hidden));
    }
    if (kind.mlp && !scheme_.experts_only) {
      kind.mlp->format = decide(layer, mlp_matrices(1, mlp_bases()));
    }
    if (kind.moe) {
      kind.moe->format = decide(layer, mlp_matrices(1, expert_bases()));
      if (!scheme_.experts_only && kind.moe->shared_ffn > 0) {
        kind.moe->shared_format = decide(layer, mlp_matrices(1, shared_bases()));
      }
    }
    return kind;
  }

  // Whether a part had matrices of several formats.
  [[nodiscard]] bool mixed() const { return mixed_; }

 private:
  [[nodiscard]] static bool matches(const HfPatterns& patterns, std::int64_t layer,
                                    const Matrix& m) {
    return std::ranges::any_of(
        m.names, [&](const std::string& name) { return patterns.match(layer, name); });
  }

  [[nodiscard]] WeightFormat format_of_matrix(std::int64_t layer, const Matrix& m) const {
    if (matches(scheme_.ignored, layer, m)) return plain_;
    for (const HfScheme::Rule& rule : scheme_.rules) {
      if (rule.everything || matches(rule.only, layer, m)) return rule.format.value_or(plain_);
    }
    return plain_;
  }

  // The format of most elements, the first of equals.
  [[nodiscard]] WeightFormat decide(std::int64_t layer, const std::vector<Matrix>& parts) const {
    std::vector<std::pair<WeightFormat, std::int64_t>> sums;
    for (const Matrix& m : parts) {
      const WeightFormat format = format_of_matrix(layer, m);
      auto sum = std::ranges::find(sums, format, &std::pair<WeightFormat, std::int64_t>::first);
      if (sum == sums.end()) sum = sums.insert(sums.end(), {format, 0});
      sum->second += m.elements;
    }
    mixed_ = mixed_ || sums.size() > 1;
    return std::ranges::max_element(sums, {}, &std::pair<WeightFormat, std::int64_t>::second)
        ->first;
  }

  const HfScheme& scheme_;
  WeightFormat plain_;
  mutable bool mixed_ = false;
};

std::optional<HfFields> declared_in_config(const HfIntake& in) {
  for (const HfFields* fields : {&in.root, &in.text}) {
    for (const std::string_view key : {"quantization_config", "compression_config"}) {
      if (fields->has(key)) return fields->object(key);
    }
  }
  return std::nullopt;
}

// The output head is quantised only where it is named: engines keep it in 16 bit otherwise.
std::optional<WeightFormat> head_format(const HfScheme& scheme) {
  if (scheme.head) return scheme.head;
  for (const std::string_view name : {"lm_head", "head", "output"}) {
    if (scheme.ignored.match_outside(name)) return std::nullopt;
    for (const HfScheme::Rule& rule : scheme.rules) {
      if (rule.only.match_outside(name)) return rule.format;
    }
  }
  return std::nullopt;
}

// DeepSeek V4: routed experts in 4 bit, one 8-bit exponent per 32, inside an fp8 checkpoint.
void add_expert_dtype(const HfIntake& in, HfScheme& scheme) {
  if (!in.text.has("expert_dtype")) return;
  const std::string name = in.text.text("expert_dtype");
  if (name == "fp8") return;
  if (name != "fp4") throw in.text.error("expert_dtype", "fp4 or fp8");
  HfScheme::Rule rule;
  (void)rule.only.add("experts");
  rule.format = format_of(Dtype::mxfp4);
  // Applied after entries for single layers and before those for all layers.
  const auto general =
      std::ranges::find_if(scheme.rules, [](const HfScheme::Rule& r) { return r.everything; });
  scheme.rules.insert(general, std::move(rule));
}

}  // namespace

void apply_quantization(HfIntake& in, const std::optional<HfFields>& separate) {
  std::optional<HfFields> declared = declared_in_config(in);
  if (!declared) declared = separate;
  HfScheme scheme;
  if (declared) scheme = read_hf_scheme(*declared);
  if (!scheme.kv && separate) scheme.kv = read_hf_scheme(*separate).kv;
  add_expert_dtype(in, scheme);
  ModelSpec& m = in.model;
  m.kv_dtype = scheme.kv;
  m.quantization_method = scheme.method;
  in.root.log().check_complete();
  if (scheme.rules.empty()) return;

  const Applier applier(scheme, in.format());
  const std::vector<LayerKind> kinds = std::exchange(m.kinds, {});
  const std::vector<std::uint16_t> order = std::exchange(m.order, {});
  for (std::size_t i = 0; i < order.size(); ++i) {
    add_layers(m, applier.apply(kinds[order[i]], static_cast<std::int64_t>(i), m.hidden), 1);
  }
  if (in.mtp.layers > 0) in.mtp.kind = applier.apply(in.mtp.kind, m.layers(), m.hidden);
  if (applier.mixed()) {
    in.note(
        "a part of a layer (such as attention) mixes formats: all of it is counted in the format "
        "of most of its elements");
  }
  if (const auto head = head_format(scheme); head && !m.tie_embeddings) m.head_format = *head;
}

}  // namespace headroom
