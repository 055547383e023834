#include "hardware/llm/parameters.hpp"

#include <algorithm>
#include <numeric>

namespace headroom {
namespace {

constexpr std::int64_t kVocabPadding = 64;  // vLLM's vocabulary-parallel embedding

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::int64_t padded_vocab_per_rank(const ModelSpec& m, std::int64_t tp) {
  return ceil_div(ceil_div(m.vocab, kVocabPadding) * kVocabPadding, tp);
}

// What one rank sees: the whole model is the rank of a sharding over one device.
struct View {
  std::int64_t tp = 1;
  std::int64_t expert_cuts = 1;  // as Sharding has them, like the next one
  std::int64_t expert_shares = 1;
  std::int64_t vocab = 0;
  StageLayers layers;
  bool first_stage = true;
  bool last_stage = true;
};

class Counter {
 public:
  Counter(const ModelSpec& model, const View& view) : m_(model), v_(view) {}

  ModelParts run() {
    count_tables();
    std::vector<std::int64_t> layers(m_.kinds.size(), 0);
    for (std::size_t i = v_.layers.first; i < v_.layers.last; ++i) ++layers[m_.order[i]];
    for (std::size_t k = 0; k < m_.kinds.size(); ++k) count_kind(m_.kinds[k], layers[k]);
    return parts_;
  }

 private:
  void add(ModelPart part, std::int64_t params, WeightFormat format) {
    parts_.params[static_cast<std::size_t>(part)] += params;
    parts_.bytes[static_cast<std::size_t>(part)] += stored_bytes(format, params);
  }
  void add(ModelPart part, std::int64_t params) { add(part, params, format_of(m_.dtype)); }

  void count_tables() {
    const std::int64_t width = m_.embedding_width > 0 ? m_.embedding_width : m_.hidden;
    const std::int64_t norm = m_.hidden * (m_.layer_norm ? 2 : 1);
    // A tied head on another stage than the table is a second copy of it.
    const bool head_copy = m_.tie_embeddings && v_.last_stage && !v_.first_stage;
    if (v_.first_stage) {
      add(ModelPart::embedding,
          v_.vocab * width + m_.position_rows * m_.hidden + m_.extra_embedding_params,
          m_.embedding_format);
      if (m_.vision) add(ModelPart::vision, m_.vision->params / v_.tp, m_.vision->format);
    }
    if (v_.last_stage) {
      if (!m_.tie_embeddings || head_copy) {
        add(ModelPart::lm_head, v_.vocab * width, m_.head_format);
      }
      add(ModelPart::small, norm + (m_.head_bias ? v_.vocab : 0));
    }
    if (width != m_.hidden) {  // projections into and out of the layers
      add(ModelPart::small,
          m_.hidden * width * ((v_.first_stage ? 1 : 0) + (v_.last_stage ? 1 : 0)));
    }
  }

  void count_kind(const LayerKind& kind, std::int64_t layers) {
    if (layers == 0) return;
    if (kind.attention) count_attention(*kind.attention, layers);
    if (kind.recurrent) count_recurrent(*kind.recurrent, layers);
    if (kind.mlp) {
      const std::int64_t matrices = kind.mlp->gated ? 3 : 2;
      add(ModelPart::dense_mlp, layers * matrices * m_.hidden * kind.mlp->ffn / v_.tp,
          kind.mlp->format);
      if (kind.mlp->bias) {
        add(ModelPart::small, layers * ((matrices - 1) * kind.mlp->ffn / v_.tp + m_.hidden));
      }
    }
    if (kind.moe) count_moe(*kind.moe, layers);
    add(ModelPart::small,
        layers * (kind.norms * m_.hidden * (m_.layer_norm ? 2 : 1) + kind.extra_params));
  }

  [[nodiscard]] std::int64_t query_matrices(const AttentionSpec& a, std::int64_t width) const {
    if (a.q_lora_rank == 0) return m_.hidden * width;
    return a.q_lora_rank * (m_.hidden + width);
  }
  [[nodiscard]] std::int64_t output_matrices(const AttentionSpec& a, std::int64_t width) const {
    if (a.o_lora_rank == 0) return width * m_.hidden;
    return a.o_lora_rank * (width + a.o_groups * m_.hidden / v_.tp);
  }

  void count_attention(const AttentionSpec& a, std::int64_t layers) {
    const std::int64_t q_heads = query_heads_per_rank(a, v_.tp);
    const std::int64_t kv_heads = a.shares_kv ? 0 : kv_heads_per_rank(a, v_.tp);
    std::int64_t matrices = 0;
    std::int64_t small = a.o_bias ? m_.hidden : 0;
    if (a.mla) {
      const MlaSpec& mla = *a.mla;
      matrices = mla.q_lora_rank > 0 ? mla.q_lora_rank * (m_.hidden + q_heads * a.head_dim)
                                     : m_.hidden * q_heads * a.head_dim;
      matrices += m_.hidden * (mla.kv_lora_rank + mla.qk_rope) +
                  mla.kv_lora_rank * q_heads * (mla.qk_nope + mla.v_head) +
                  q_heads * mla.v_head * m_.hidden * (a.output_gate ? 2 : 1);
      small += mla.q_lora_rank + mla.kv_lora_rank;
    } else {
      const std::int64_t query = q_heads * a.head_dim * (a.output_gate ? 2 : 1);
      const std::int64_t values = a.value_is_key ? 0 : kv_heads * a.v_head_dim;
      matrices = m_.hidden * (kv_heads * a.head_dim + values) + query_matrices(a, query) +
                 output_matrices(a, q_heads * a.v_head_dim);
      if (a.qkv_bias) small += query + kv_heads * a.head_dim + values;
      small += a.q_lora_rank;
    }
    if (a.indexer && !a.indexer->shared) {
      // Query from the latent (or the hidden state), one key and one weight per head; replicated.
      const std::int64_t latent = a.mla ? a.mla->q_lora_rank : a.q_lora_rank;
      const std::int64_t from = latent > 0 ? latent : m_.hidden;
      matrices += from * a.indexer->heads * a.indexer->head_dim +
                  m_.hidden * (a.indexer->head_dim + a.indexer->heads);
      small += 2 * a.indexer->head_dim;
    }
    matrices += a.extra_params / v_.tp;
    if (a.qk_norm) small += a.shares_kv ? a.head_dim : 2 * a.head_dim;
    if (a.sinks) small += q_heads;
    add(ModelPart::attention, layers * matrices, a.format);
    add(ModelPart::attention, layers * a.compressor_params);
    add(ModelPart::small, layers * small);
  }

  void count_recurrent(const RecurrentSpec& r, std::int64_t layers);

  void count_moe(const MoeSpec& moe, std::int64_t layers) {
    const std::int64_t matrices = moe.gated ? 3 : 2;
    const std::int64_t width = moe.latent > 0 ? moe.latent : m_.hidden;
    const std::int64_t experts = ceil_div(moe.experts, v_.expert_shares);
    const std::int64_t ffn = moe.ffn / v_.expert_cuts;
    add(ModelPart::experts, layers * experts * matrices * width * ffn, moe.format);
    add(ModelPart::shared_experts, layers * matrices * m_.hidden * moe.shared_ffn / v_.tp,
        moe.shared_format);
    std::int64_t router = m_.hidden * moe.experts + (moe.router_bias ? moe.experts : 0);
    if (moe.shared_gate) router += m_.hidden;
    add(ModelPart::router, layers * router);
    if (moe.latent > 0) {  // down to the latent width and back
      add(ModelPart::shared_experts, layers * 2 * m_.hidden * moe.latent, moe.shared_format);
    }
    if (moe.expert_bias) {
      add(ModelPart::expert_bias, layers * experts * ((matrices - 1) * ffn + width));
    }
  }

  const ModelSpec& m_;
  const View& v_;
  ModelParts parts_;
};

void Counter::count_recurrent(const RecurrentSpec& r, std::int64_t layers) {
  using Family = RecurrentSpec::Family;
  const std::int64_t h = m_.hidden;
  const std::int64_t value_heads = std::max<std::int64_t>(1, r.value_heads / v_.tp);
  const std::int64_t key_heads = std::max<std::int64_t>(1, r.key_heads / v_.tp);
  const std::int64_t value = value_heads * r.value_head_dim;
  const std::int64_t key = key_heads * r.key_head_dim;
  std::int64_t conv_width = 0;
  std::int64_t matrices = 0;
  std::int64_t small = 0;
  switch (r.family) {
    case Family::mamba1:  // in, x, dt and out projections; A per state, D per channel
      conv_width = value;
      matrices =
          h * 2 * value + value * (r.dt_rank + 2 * r.key_head_dim) + r.dt_rank * value + value * h;
      small = value * r.key_head_dim + 2 * value;
      break;
    case Family::mamba2:  // z, x, B, C and dt in one projection; A, D and dt bias per head
      conv_width = value + 2 * key;
      matrices = h * (2 * value + 2 * key + value_heads) + value * h;
      small = 3 * value_heads + value;
      if (r.proj_bias) small += 2 * value + 2 * key + value_heads + h;
      break;
    case Family::gated_delta_net:  // q, k, v, gate z; beta and decay per head
      conv_width = 2 * key + value;
      matrices = h * (2 * key + 2 * value + 2 * value_heads) + value * h;
      small = 2 * value_heads + r.value_head_dim;
      break;
    case Family::kimi_delta_attention: {  // decay and gate, usually through a rank of one head
      conv_width = 2 * key + value;
      const std::int64_t low_rank = (h + value) * r.value_head_dim;
      matrices = h * (2 * key + value) + h * value_heads + value * h;
      matrices += r.full_rank_decay ? h * value : low_rank;
      matrices += r.full_rank_gate ? h * value : low_rank;
      small = value_heads + value + r.value_head_dim;
      break;
    }
    case Family::lightning:  // q, k, v and the gate of the output; a norm
      matrices = h * (2 * key + 2 * value) + value * h;
      small = value;
      break;
    case Family::short_convolution:
      conv_width = value;
      matrices = h * 3 * value + value * h;
      break;
  }
  matrices += conv_width * r.conv_kernel;
  if (r.conv_bias) small += conv_width;
  add(ModelPart::recurrent, layers * matrices, r.format);
  add(ModelPart::small, layers * small);
}

// Of the layers in view and, where it has them, of what is outside the layers.
PartBytes stored_in_view(const StoredWeights& stored, const View& view) {
  PartBytes bytes{};
  const auto add = [&](const PartBytes& more) {
    for (std::size_t p = 0; p < bytes.size(); ++p) bytes[p] += more[p];
  };
  for (std::size_t i = view.layers.first; i < view.layers.last; ++i) add(stored.layers[i]);
  PartBytes outside = stored.outside;
  for (const ModelPart part : {ModelPart::embedding, ModelPart::vision}) {
    if (!view.first_stage) outside[static_cast<std::size_t>(part)] = 0;
  }
  for (const ModelPart part : {ModelPart::lm_head, ModelPart::small}) {
    if (!view.last_stage) outside[static_cast<std::size_t>(part)] = 0;
  }
  add(outside);
  return bytes;
}

// The bytes that the files state take the place of those that follow from formats; a rank has its
// share of the parameters. A part without stored bytes (a second copy of a tied table) keeps its
// own.
ModelParts count_parts(const ModelSpec& model, const View& view) {
  ModelParts parts = Counter(model, view).run();
  if (!model.stored || model.stored->layers.size() != model.order.size()) return parts;
  View whole = view;
  whole.tp = whole.expert_cuts = whole.expert_shares = 1;
  whole.vocab = model.vocab;
  const std::array<std::int64_t, kModelPartCount> all = Counter(model, whole).run().params;
  const PartBytes stored = stored_in_view(*model.stored, view);
  for (std::size_t p = 0; p < stored.size(); ++p) {
    if (stored[p] == 0) continue;
    const bool shared = all[p] > 0 && parts.params[p] != all[p];
    if (!shared) {
      parts.bytes[p] = stored[p];
      continue;
    }
    const double share = static_cast<double>(parts.params[p]) / static_cast<double>(all[p]);
    parts.bytes[p] = static_cast<ByteCount>(static_cast<double>(stored[p]) * share);
  }
  return parts;
}

}  // namespace

std::string_view name_of(ModelPart part) {
  static constexpr std::array<std::string_view, kModelPartCount> kNames{
      "embedding", "lm_head", "attention",   "recurrent", "dense_mlp", "shared_experts",
      "experts",   "router",  "expert_bias", "small",     "vision"};
  return kNames[static_cast<std::size_t>(part)];
}

std::int64_t ModelParts::params_total() const {
  return std::accumulate(params.begin(), params.end(), std::int64_t{0});
}
ByteCount ModelParts::bytes_total() const {
  return std::accumulate(bytes.begin(), bytes.end(), ByteCount{0});
}

bool is_countable(const ModelSpec& m) {
  constexpr double kMostParameters = 1e15;
  double sum = 0;
  const auto product = [](auto... factors) { return (1.0 * ... * static_cast<double>(factors)); };
  for (std::size_t k = 0; k < m.kinds.size(); ++k) {
    const LayerKind& kind = m.kinds[k];
    double layer = 0;
    if (kind.mlp) layer += product(3, m.hidden, kind.mlp->ffn);
    if (kind.moe) layer += product(3, m.hidden, kind.moe->experts, kind.moe->ffn);
    if (kind.moe) layer += product(3, m.hidden, kind.moe->shared_ffn);
    if (kind.attention) {
      const AttentionSpec& a = *kind.attention;
      const double width = static_cast<double>(m.hidden) + static_cast<double>(a.q_lora_rank) +
                           product(a.o_lora_rank, a.o_groups) +
                           (a.mla ? product(1, a.mla->kv_lora_rank + a.mla->q_lora_rank) : 0.0);
      layer += product(4, width, a.q_heads, a.head_dim + a.v_head_dim);
      if (a.indexer) layer += product(2, width, a.indexer->heads + 1, a.indexer->head_dim);
    }
    if (kind.recurrent) {
      const RecurrentSpec& r = *kind.recurrent;
      layer +=
          product(2, m.hidden + r.conv_kernel + r.dt_rank, 2 * r.value_heads, r.value_head_dim) +
          product(2, m.hidden + r.value_heads, r.key_heads, r.key_head_dim);
    }
    sum += layer * static_cast<double>(m.layers_of(k));
  }
  sum += product(m.hidden, m.vocab + m.position_rows);
  return sum <= kMostParameters;
}

ModelParts model_parts(const ModelSpec& model) {
  View view;
  view.vocab = model.vocab;
  view.layers = {0, model.order.size()};
  return count_parts(model, view);
}

ModelParts rank_parts(const ModelSpec& model, const Sharding& sharding, std::int64_t stage) {
  check_sharding(model, sharding);
  View view;
  view.tp = sharding.tensor;
  view.expert_cuts = sharding.expert_cuts();
  view.expert_shares = sharding.expert_shares();
  view.vocab = padded_vocab_per_rank(model, sharding.tensor);
  view.layers = stage_layers(model, sharding, stage);
  view.first_stage = stage == 0;
  view.last_stage = stage + 1 == sharding.pipeline;
  return count_parts(model, view);
}

std::int64_t params_total(const ModelSpec& model) { return model_parts(model).params_total(); }

std::int64_t params_active(const ModelSpec& model) {
  ModelSpec active = model;
  for (LayerKind& kind : active.kinds) {
    // The router of all experts still runs: only the experts themselves are fewer.
    if (kind.moe) kind.moe->experts = kind.moe->top_k;
  }
  const ModelParts whole = model_parts(model);
  const ModelParts part = model_parts(active);
  return part.params_total() + whole.params_of(ModelPart::router) -
         part.params_of(ModelPart::router);
}

ByteCount checkpoint_bytes(const ModelSpec& model) {
  const ByteCount unloaded = model.stored ? model.stored->unloaded : model.unloaded_bytes;
  return model_parts(model).bytes_total() + unloaded;
}

ByteCount rank_weight_bytes(const ModelSpec& model, const Sharding& sharding) {
  ByteCount most = 0;
  for (std::int64_t stage = 0; stage < sharding.pipeline; ++stage) {
    most = std::max(most, rank_parts(model, sharding, stage).bytes_total());
  }
  return most;
}

ByteCount decode_weight_bytes(const ModelSpec& model, const Sharding& sharding) {
  const ModelParts parts = rank_parts(model, sharding);
  const std::int64_t width = model.embedding_width > 0 ? model.embedding_width : model.hidden;
  const std::int64_t head = padded_vocab_per_rank(model, sharding.tensor) * width;
  return parts.bytes_total() - parts.bytes_of(ModelPart::embedding) -
         parts.bytes_of(ModelPart::lm_head) - parts.bytes_of(ModelPart::vision) +
         stored_bytes(model.tie_embeddings ? model.embedding_format : model.head_format, head);
}

std::int64_t query_heads_per_rank(const AttentionSpec& a, std::int64_t tp) {
  return a.q_heads / tp;
}

std::int64_t kv_heads_per_rank(const AttentionSpec& a, std::int64_t tp) {
  return std::max<std::int64_t>(1, a.kv_heads / tp);
}

}  // namespace headroom
