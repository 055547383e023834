#include "hardware/llm/lora.hpp"

#include <fmt/format.h>

#include "hardware/llm/parameters.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

void check_layers(const ModelSpec& model) {
  for (const LayerKind& kind : model.kinds) {
    const bool attends = kind.attention && !kind.attention->mla &&
                         kind.attention->q_lora_rank == 0 && kind.attention->o_lora_rank == 0 &&
                         kind.attention->compress_ratio == 1 && !kind.attention->shares_kv;
    if (attends && kind.mlp && !kind.moe && !kind.recurrent) continue;
    throw ConfigError(
        fmt::format("LoRA is modelled only for dense layers with plain attention; {} has others "
                    "(experts, latent or shared attention, recurrent states)",
                    model.id),
        ErrorKind::unsupported);
  }
}

class LoraCount {
 public:
  LoraCount(const ModelSpec& model, const Sharding& sharding, const LoraShape& shape)
      : model_(model), tp_(sharding.tensor), shape_(shape) {}

  void add_layer(const LayerKind& kind, std::int64_t layers) {
    const AttentionSpec& a = *kind.attention;
    const std::int64_t q = a.q_heads * a.head_dim * (a.output_gate ? 2 : 1);
    const std::int64_t k = a.kv_heads * a.head_dim;
    const std::int64_t v = a.value_is_key ? 0 : a.kv_heads * a.v_head_dim;
    // KV heads fewer than ranks are copied (parameters.hpp).
    const std::int64_t kv_rank =
        kv_heads_per_rank(a, tp_) * (v > 0 ? a.head_dim + a.v_head_dim : a.head_dim);
    add_columns(layers, v > 0 ? 3 : 2, q + k + v, q / tp_ + kv_rank);
    add_rows(layers, a.q_heads * a.v_head_dim);
    const std::int64_t parts = kind.mlp->gated ? 2 : 1;
    add_columns(layers, parts, parts * kind.mlp->ffn, parts * kind.mlp->ffn / tp_);
    add_rows(layers, kind.mlp->ffn);
  }

  void add_table() { size_.table_elements += (model_.vocab + model_.hidden) * shape_.rank; }

  [[nodiscard]] const LoraSize& size() const { return size_; }

 private:
  // Split by outputs: `parts` matrices with hidden inputs each.
  void add_columns(std::int64_t layers, std::int64_t parts, std::int64_t out,
                   std::int64_t out_rank) {
    const std::int64_t in = parts * model_.hidden;
    const std::int64_t a = shape_.fully_sharded ? in / tp_ : in;
    add(layers, parts, in + out, a + out_rank);
  }
  // Split by inputs: one matrix with hidden outputs.
  void add_rows(std::int64_t layers, std::int64_t in) {
    const std::int64_t b = shape_.fully_sharded ? model_.hidden / tp_ : model_.hidden;
    add(layers, 1, in + model_.hidden, in / tp_ + b);
  }
  void add(std::int64_t layers, std::int64_t parts, std::int64_t width, std::int64_t width_rank) {
    size_.elements += layers * width * shape_.rank;
    size_.rank_elements += layers * width_rank * shape_.rank;
    size_.modules += layers;
    size_.matrices += 2 * layers * parts;
  }

  const ModelSpec& model_;
  std::int64_t tp_;
  LoraShape shape_;
  LoraSize size_;
};

}  // namespace

LoraSize lora_size(const ModelSpec& model, const Sharding& sharding, std::int64_t stage,
                   const LoraShape& shape) {
  check_layers(model);
  LoraCount count(model, sharding, shape);
  const StageLayers layers = stage_layers(model, sharding, stage);
  for (std::size_t i = layers.first; i < layers.last; ++i) count.add_layer(model.layer(i), 1);
  if (model.vocab <= kLargestLoraVocab) {
    if (stage == 0) count.add_table();
    if (stage == sharding.pipeline - 1) count.add_table();
  }
  return count.size();
}

ByteCount lora_element_bytes(const ModelSpec& model) { return activation_bytes(model.dtype); }

}  // namespace headroom
