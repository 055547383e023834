#include "sim/engines/llamacpp/compute_graph.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "hardware/llm/parameters.hpp"
#include "sim/engines/llamacpp/compute_buffers.hpp"
#include "sim/engines/llamacpp/graph_memory.hpp"
#include "sim/engines/llamacpp/split.hpp"

namespace headroom {
namespace {

constexpr std::int64_t kFloat = 4;
// Keys and values are stored by rows whose numbers are an input: pull request 14285, August 2025.
constexpr EngineVersion kStoresByRows{0, 6100};
// Gate and product of an MLP in one operation, which needs a result of its own: pull request 14158
// of June 2025.
constexpr EngineVersion kFusedGates{0, 5780};

using Tensor = GraphMemory::Tensor;

class GraphBuilder {
 public:
  GraphBuilder(const ModelSpec& model, const LlamacppBudgetOptions& options, GraphPart part)
      : model_(model), options_(options), part_(std::move(part)) {
    const LlamacppCells cells = llamacpp_cells(model, options);
    tokens_ = std::min(options.ubatch_size, cells.total());
    rows_ = std::min(tokens_, llamacpp_output_rows(model, options));
    flash_ = llamacpp_flash_attention(options);
    add_inputs(cells);
  }

  ByteCount build() {
    const std::size_t start = part_.copies_layers ? 0 : part_.first;
    for (std::size_t i = start; i < part_.last; ++i) {
      if (part_.copies_layers && i < part_.first) host_parts_ = llamacpp_layer_parts(model_, i);
      if (i >= part_.first) host_parts_.reset();
      set_experts(i);
      add_layer(model_.layer(i), i + 1 == model_.order.size());
    }
    add_foreign_experts();
    if (part_.output || part_.copies_head) add_output();
    return graph_.peak();
  }

 private:
  void set_experts(std::size_t layer) {
    host_experts_.reset();
    if (layer < part_.host_experts.size() && part_.host_experts[layer]) {
      host_experts_ = llamacpp_layer_parts(model_, layer);
    }
  }

  // Of another device's layer: all are alike, and one has the buffers of the one before it.
  void add_foreign_experts() {
    for (std::size_t i = part_.last; i < part_.host_experts.size(); ++i) {
      set_experts(i);
      if (!host_experts_ || !model_.layer(i).moe) continue;
      now_ = tokens_;
      host_parts_.reset();
      add_experts(*model_.layer(i).moe, floats({}, model_.hidden));
      break;
    }
    host_experts_.reset();
  }

  struct Mask {
    TokenCount window = 0;
    Tensor input = 0;
    std::optional<Tensor> half;  // for flash attention, made by the first layer that reads it
    TokenCount cells = 0;
  };

  // Copies of the inputs stand in front, in the order in which layers read them.
  Tensor input(ByteCount bytes) {
    const Tensor first = graph_.add({}, bytes);
    for (std::int64_t i = 1; i < part_.input_copies; ++i) graph_.keep(graph_.add({}, bytes));
    if (part_.input_copies > 1) graph_.keep(first);
    return first;
  }

  void add_inputs(const LlamacppCells& cells) {
    hidden_ = input(tokens_ * model_.hidden * kFloat);
    positions_ = input(tokens_ * 4);
    const bool by_rows = options_.version >= kStoresByRows;
    key_rows_ = input(by_rows ? tokens_ * 8 : 0);
    value_rows_ = input(by_rows ? tokens_ * 8 : 0);
    for (std::size_t i = part_.copies_layers ? 0 : part_.first; i < part_.last; ++i) {
      const LayerKind& kind = model_.layer(i);
      if (kind.attention) add_mask(*kind.attention, cells);
    }
    output_rows_ = input(rows_ * 4);
  }

  [[nodiscard]] TokenCount window_of(const AttentionSpec& attention) const {
    return llamacpp_window_cache(model_) ? attention.window_tokens : 0;
  }

  void add_mask(const AttentionSpec& attention, const LlamacppCells& cells) {
    const TokenCount window = window_of(attention);
    if (std::ranges::any_of(masks_, [&](const Mask& m) { return m.window == window; })) return;
    Mask mask;
    mask.window = window;
    mask.cells = window == 0 ? cells.per_stream : llamacpp_window_cells(window, cells, options_);
    // After layers on the host the mask comes in the format that their attention reads.
    const bool half =
        flash_ && (llamacpp_half_masks(options_) || (part_.first > 0 && !part_.copies_layers));
    mask.input = input(mask.cells * tokens_ * (half ? 2 : kFloat));
    if (half || !flash_) mask.half = mask.input;
    masks_.push_back(mask);
  }

  Tensor floats(std::initializer_list<Tensor> sources, std::int64_t width) {
    return graph_.add(sources, now_ * width * kFloat);
  }
  Tensor floats_in_place(std::initializer_list<Tensor> sources, std::int64_t width) {
    return graph_.in_place(sources, now_ * width * kFloat);
  }
  Tensor norm(Tensor of, std::int64_t width) {
    return floats_in_place({floats_in_place({of}, width)}, width);
  }

  // A product with a matrix; one on the host is copied for it. `share` is its part of the bytes.
  Tensor product(Tensor of, std::int64_t width, ModelPart part, double share) {
    const auto& parts = part == ModelPart::experts && host_experts_ ? host_experts_ : host_parts_;
    if (!parts) return floats({of}, width);
    const ByteCount all = (*parts)[static_cast<std::size_t>(part)];
    const Tensor matrix = graph_.add({}, static_cast<ByteCount>(static_cast<double>(all) * share));
    return floats({of, matrix}, width);
  }

  void add_layer(const LayerKind& kind, bool last) {
    now_ = tokens_;
    Tensor mixed = norm(hidden_, model_.hidden);
    if (kind.attention) mixed = add_attention(*kind.attention, mixed);
    if (kind.recurrent) mixed = add_recurrence(*kind.recurrent, mixed);
    if (last) {
      now_ = rows_;
      mixed = floats({mixed, output_rows_}, model_.hidden);
      hidden_ = floats({hidden_, output_rows_}, model_.hidden);
    }
    hidden_ = floats_in_place({mixed, hidden_}, model_.hidden);
    if (!kind.mlp && !kind.moe) return;
    const Tensor normed = norm(hidden_, model_.hidden);
    std::optional<Tensor> out;
    if (kind.moe) out = add_experts(*kind.moe, normed);
    if (kind.mlp) {
      const Tensor dense = add_mlp(normed, kind.mlp->ffn, kind.mlp->gated, ModelPart::dense_mlp);
      out = out ? floats_in_place({*out, dense}, model_.hidden) : dense;
    }
    hidden_ = floats_in_place({*out, hidden_}, model_.hidden);
  }

  // Turned in place only where no view lies between, as after a norm of query or key.
  Tensor turned(Tensor projected, std::int64_t width, bool has_norm) {
    const Tensor own = floats({projected, positions_}, width);
    return has_norm ? floats_in_place({own, positions_}, width) : own;
  }

  Tensor add_attention(const AttentionSpec& a, Tensor normed) {
    const std::int64_t query =
        a.q_heads * (a.mla ? a.mla->kv_lora_rank + a.mla->qk_rope : a.head_dim);
    const std::int64_t key = a.mla ? a.mla->kv_lora_rank + a.mla->qk_rope : a.kv_heads * a.head_dim;
    const std::int64_t value = a.mla ? 0 : a.kv_heads * a.v_head_dim;
    const std::int64_t heads = a.q_heads * (a.mla ? a.mla->kv_lora_rank : a.v_head_dim);
    const auto whole = static_cast<double>(query + key + value + heads);
    const auto share = [&](std::int64_t width) { return static_cast<double>(width) / whole; };
    const Tensor q_and_gate =
        product(normed, a.output_gate ? 2 * query : query, ModelPart::attention, share(query));
    const Tensor q = turned(q_and_gate, query, a.qk_norm);
    if (!a.shares_kv) {
      if (value > 0 && !a.value_is_key) {
        const Tensor v = product(normed, value, ModelPart::attention, share(value));
        graph_.add({v, value_rows_}, 0);
      }
      const Tensor k =
          turned(product(normed, key, ModelPart::attention, share(key)), key, a.qk_norm);
      graph_.add({k, key_rows_}, 0);
    }
    Mask& mask =
        *std::ranges::find_if(masks_, [&](const Mask& m) { return m.window == window_of(a); });
    std::optional<Tensor> gate;
    if (a.output_gate) gate = floats({q_and_gate}, heads);
    Tensor out = flash_ ? add_flash(mask, q, key, value, heads)
                        : add_scores(mask, q, key, value, a.q_heads, heads);
    if (gate) out = floats({out, floats_in_place({*gate}, heads)}, heads);
    if (a.mla) out = floats({out}, a.q_heads * a.v_head_dim);
    return product(out, model_.hidden, ModelPart::attention, share(heads));
  }

  // Keys or values of a layer on the host, copied for the attention.
  Tensor copied_cache(const Mask& mask, std::int64_t width, Dtype type) {
    return graph_.add({}, host_parts_ ? mask.cells * stored_bytes(type, width) : 0);
  }

  Tensor add_flash(Mask& mask, Tensor q, std::int64_t key, std::int64_t value, std::int64_t heads) {
    const Tensor k = copied_cache(mask, key, options_.cache_type_k);
    const Tensor v = copied_cache(mask, value, options_.cache_type_v);
    if (!mask.half) mask.half = graph_.add({mask.input}, mask.cells * tokens_ * 2);
    return floats({q, k, v, *mask.half}, heads);
  }

  Tensor add_scores(const Mask& mask, Tensor q, std::int64_t key, std::int64_t value,
                    std::int64_t q_heads, std::int64_t heads) {
    const Tensor k = copied_cache(mask, key, options_.cache_type_k);
    const Tensor v = copied_cache(mask, value, options_.cache_type_v);
    const Tensor scores = floats({q, k}, mask.cells * q_heads);
    const Tensor shares = floats_in_place({scores, mask.input}, mask.cells * q_heads);
    return floats({floats({shares, v}, heads)}, heads);
  }

  // Projections, the convolution and the states' output: an estimate, without the inner products.
  Tensor add_recurrence(const RecurrentSpec& r, Tensor normed) {
    const std::int64_t values = r.value_heads * r.value_head_dim;
    const std::int64_t mixed = values + 2 * r.key_heads * r.key_head_dim;
    const Tensor projected = product(normed, mixed, ModelPart::recurrent, 0.5);
    const Tensor gate = product(normed, values, ModelPart::recurrent, 0.25);
    const Tensor padded = floats({projected}, mixed);
    const Tensor convolved = floats_in_place({floats({padded}, mixed)}, mixed);
    const Tensor out = floats({convolved}, values);
    const Tensor gated = floats({out, floats_in_place({gate}, values)}, values);
    return product(gated, model_.hidden, ModelPart::recurrent, 0.25);
  }

  Tensor add_mlp(Tensor normed, std::int64_t ffn, bool gated, ModelPart part) {
    const double share = gated ? 1.0 / 3 : 0.5;
    Tensor inner = product(normed, ffn, part, share);
    if (gated) {
      const Tensor gate = product(normed, ffn, part, share);
      inner = options_.version >= kFusedGates ? floats({gate, inner}, ffn)
                                              : floats_in_place({gate, inner}, ffn);
    } else {
      inner = floats_in_place({inner}, ffn);
    }
    return product(inner, model_.hidden, part, share);
  }

  Tensor add_experts(const MoeSpec& moe, Tensor normed) {
    const std::int64_t width = moe.latent > 0 ? moe.latent : model_.hidden;
    const double share = moe.gated ? 1.0 / 3 : 0.5;
    const Tensor logits = floats({normed}, moe.experts);
    const Tensor sorted = floats({logits}, moe.experts);
    const Tensor weights = floats({logits, sorted}, moe.top_k);
    const Tensor into = moe.latent > 0 ? floats({normed}, width) : normed;
    const std::int64_t inner = moe.top_k * moe.ffn;
    Tensor up = product(into, inner, ModelPart::experts, share);
    if (moe.gated) {
      const Tensor gate = product(into, inner, ModelPart::experts, share);
      up = options_.version >= kFusedGates ? floats({gate, up}, inner)
                                           : floats_in_place({gate, up}, inner);
    } else {
      up = floats_in_place({up}, inner);
    }
    Tensor out = product(up, moe.top_k * width, ModelPart::experts, share);
    out = floats_in_place({out, weights, sorted}, moe.top_k * width);
    Tensor sum = floats({out}, width);
    if (moe.latent > 0) sum = floats({sum}, model_.hidden);
    if (moe.shared_ffn > 0) {
      const Tensor shared = add_mlp(normed, moe.shared_ffn, moe.gated, ModelPart::shared_experts);
      sum = floats_in_place({sum, shared}, model_.hidden);
    }
    return sum;
  }

  void add_output() {
    now_ = rows_;
    const Tensor normed = norm(hidden_, model_.hidden);
    graph_.keep(normed);
    std::optional<Tensor> matrix;
    if (part_.copies_head) {
      const ModelParts parts = model_parts(model_);
      matrix = graph_.add(
          {}, parts.bytes_of(model_.tie_embeddings ? ModelPart::embedding : ModelPart::lm_head));
    }
    graph_.keep(matrix ? floats({normed, *matrix}, model_.vocab) : floats({normed}, model_.vocab));
  }

  const ModelSpec& model_;
  const LlamacppBudgetOptions& options_;
  GraphPart part_;
  GraphMemory graph_;
  std::int64_t tokens_ = 0;
  std::int64_t rows_ = 0;
  std::int64_t now_ = 0;  // tokens that the present operation works on
  bool flash_ = false;
  Tensor hidden_ = 0;
  Tensor positions_ = 0;
  Tensor key_rows_ = 0;
  Tensor value_rows_ = 0;
  Tensor output_rows_ = 0;
  std::vector<Mask> masks_;
  std::optional<PartBytes> host_parts_;    // of the present layer, if it is on the host
  std::optional<PartBytes> host_experts_;  // likewise, if its experts are
};

}  // namespace

ByteCount llamacpp_graph_bytes(const ModelSpec& model, const LlamacppBudgetOptions& options,
                               const GraphPart& part) {
  return GraphBuilder(model, options, part).build();
}

}  // namespace headroom
