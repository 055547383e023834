#include "hardware/llm/drafter_model.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "hardware/llm/parameters.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

// draft_vocab_size of the published EAGLE-3 heads (Llama 3.1 and 3.3, gpt-oss, Qwen3).
constexpr std::int64_t kDraftVocabulary = 32'000;

// The last layer that attends and keeps its own keys and values.
LayerKind last_attending(const ModelSpec& target) {
  for (auto kind = target.order.rbegin(); kind != target.order.rend(); ++kind) {
    const LayerKind& layer = target.kinds[*kind];
    if (layer.attention && !layer.attention->shares_kv) return layer;
  }
  throw ConfigError(fmt::format("{} has no attention layer to model a drafter on", target.id));
}

// Without tables and layers; the norm behind the last layer is counted with every model.
ModelSpec behind(const ModelSpec& target, std::string_view what) {
  ModelSpec made;
  made.id = fmt::format("{} of {}", what, target.id);
  made.hidden = target.hidden;
  made.layer_norm = target.layer_norm;
  made.tie_embeddings = true;
  made.dtype = target.dtype;
  made.embedding_format = made.head_format = format_of(target.dtype);
  return made;
}

MlpSpec dense_mlp(const LayerKind& layer, std::int64_t hidden, WeightFormat format) {
  MlpSpec mlp;
  if (layer.mlp) mlp = *layer.mlp;
  if (layer.moe) mlp.ffn = layer.moe->top_k * layer.moe->ffn + layer.moe->shared_ffn;
  if (mlp.ffn == 0) mlp.ffn = 4 * hidden;
  mlp.format = format;
  return mlp;
}

// Columns of the products that read a layer's input: queries, keys and values.
std::int64_t input_columns(const AttentionSpec& a) {
  if (a.mla) {
    const std::int64_t query = a.mla->q_lora_rank > 0 ? a.mla->q_lora_rank : a.q_heads * a.head_dim;
    return query + a.mla->kv_lora_rank + a.mla->qk_rope;
  }
  return a.q_heads * a.head_dim + a.kv_heads * (a.head_dim + a.v_head_dim);
}

LayerKind eagle_layer(const ModelSpec& target, std::int64_t vectors, std::int64_t norms) {
  const LayerKind last = last_attending(target);
  const WeightFormat format = format_of(target.dtype);
  LayerKind layer;
  layer.attention = last.attention;
  layer.attention->window_tokens = 0;
  layer.attention->chunked = false;
  layer.attention->compress_ratio = 1;
  layer.attention->indexer.reset();
  layer.attention->format = format;
  layer.mlp = dense_mlp(last, target.hidden, format);
  layer.norms = norms;
  layer.extra_params = vectors * target.hidden * target.hidden;  // fc, whole on every rank
  return layer;
}

}  // namespace

ModelSpec eagle_head(const ModelSpec& target) {
  ModelSpec made = behind(target, "EAGLE head");
  add_layers(made, eagle_layer(target, 2, 1), 1);
  return made;
}

ModelSpec eagle3_head(const ModelSpec& target) {
  ModelSpec made = behind(target, "EAGLE-3 head");
  made.vocab = std::min(target.vocab, kDraftVocabulary);  // one table, tied: the head
  LayerKind layer = eagle_layer(target, 3, 3);
  layer.attention->extra_params = target.hidden * input_columns(*layer.attention);
  add_layers(made, layer, 1);
  return made;
}

ModelSpec mtp_module(const ModelSpec& target) {
  ModelSpec made = behind(target, "MTP module");
  LayerKind layer = last_attending(target);
  layer.attention->compress_ratio = 1;
  layer.extra_params += 2 * target.hidden * target.hidden + 2 * target.hidden;  // enorm and hnorm
  add_layers(made, layer, 1);
  return made;
}

Sharding drafter_sharding(const Sharding& sharding) {
  Sharding made = sharding;
  made.pipeline = 1;
  return made;
}

bool holds_drafter(const Sharding& sharding, std::int64_t stage) {
  return stage + 1 == sharding.pipeline;
}

ModelSpec with_drafter_layers(const ModelSpec& target, const Sharding& sharding, std::int64_t stage,
                              const ModelSpec& drafter) {
  ModelSpec made = target;
  made.kinds.clear();
  made.order.clear();
  made.stored.reset();
  const StageLayers layers = stage_layers(target, sharding, stage);
  for (std::size_t i = layers.first; i < layers.last; ++i) add_layers(made, target.layer(i), 1);
  for (std::size_t i = 0; i < drafter.order.size(); ++i) add_layers(made, drafter.layer(i), 1);
  return made;
}

}  // namespace headroom
