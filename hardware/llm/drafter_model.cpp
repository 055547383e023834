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

// The module sees the exact entries of a window alone.
void drop_compressor(AttentionSpec& a) {
  if (a.compress_ratio > 1) a.indexer.reset();  // it searches compressed entries
  a.compress_ratio = 1;
  a.compressor_params = 0;
}

LayerKind eagle_layer(const ModelSpec& target, std::int64_t vectors, std::int64_t norms) {
  const LayerKind last = last_attending(target);
  const WeightFormat format = format_of(target.dtype);
  LayerKind layer;
  layer.attention = last.attention;
  layer.attention->window_tokens = 0;
  layer.attention->chunked = false;
  drop_compressor(*layer.attention);
  layer.attention->indexer.reset();
  layer.attention->format = format;
  layer.mlp = dense_mlp(last, target.hidden, format);
  layer.norms = norms;
  layer.extra_params = vectors * target.hidden * target.hidden;  // fc, whole on every rank
  return layer;
}

// Tools that quantise to 4 bits leave the module as it was (llm-compressor:
// transformers/compression/compressed_tensors_utils.py, save_mtp_tensors_to_checkpoint;
// Model-Optimizer: '*mtp*' is off in modelopt_recipes/huggingface/qwen3_5).
void keep_in_16_bits(LayerKind& layer, const ModelSpec& target) {
  const Dtype main = main_dtype(target);
  if (main != Dtype::nvfp4 && main != Dtype::int4) return;
  const WeightFormat plain = format_of(target.dtype);
  if (layer.attention) layer.attention->format = plain;
  if (layer.mlp) layer.mlp->format = plain;
  if (layer.moe) layer.moe->format = layer.moe->shared_format = plain;
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
  keep_in_16_bits(layer, target);
  drop_compressor(*layer.attention);
  layer.extra_params += 2 * target.hidden * target.hidden + 2 * target.hidden;  // enorm and hnorm
  add_layers(made, layer, 1);
  // Where mixers and experts are layers of their own, the module has one of each (Nemotron 3:
  // mtp_hybrid_override_pattern "*E").
  const bool bare = !layer.mlp && !layer.moe;
  const auto experts = std::ranges::find_if(
      target.kinds, [](const LayerKind& kind) { return kind.moe && !kind.attention; });
  if (bare && experts != target.kinds.end()) {
    LayerKind second = *experts;
    keep_in_16_bits(second, target);
    add_layers(made, second, 1);
  }
  return made;
}

// Published heads attend as Qwen3 does, with 32 heads of 128: five layers with the target's MLP
// (z-lab/Qwen3.6-27B-DFlash, 3.3 GB; Qwen3.5-9B); eight layers with an MLP three times the hidden
// width for targets with experts (z-lab/Qwen3-Coder-30B-A3B-DFlash, 0.5 B parameters).
ModelSpec dflash_head(const ModelSpec& target) {
  constexpr std::int64_t kDenseLayers = 5;
  constexpr std::int64_t kExpertLayers = 8;
  ModelSpec made = behind(target, "DFlash head");
  const bool experts =
      std::ranges::any_of(target.kinds, [](const LayerKind& kind) { return !!kind.moe; });
  const std::int64_t layers = experts ? kExpertLayers : kDenseLayers;
  LayerKind layer = eagle_layer(target, 0, 2);
  const AttentionSpec& last = *layer.attention;
  AttentionSpec attention;
  attention.q_heads = 32;
  attention.head_dim = attention.v_head_dim = 128;
  attention.kv_heads =
      last.mla ? 8 : std::max<std::int64_t>(1, last.kv_heads * last.head_dim / 128);
  attention.qk_norm = true;
  attention.format = last.format;
  layer.attention = attention;
  if (experts) layer.mlp->ffn = 3 * target.hidden;
  add_layers(made, layer, layers - 1);
  layer.extra_params = layers * target.hidden * target.hidden;  // fc
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
