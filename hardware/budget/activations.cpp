#include "hardware/budget/activations.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "hardware/llm/parameters.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

// Elements per token of the projections and their output.
std::int64_t attention_width(const AttentionSpec& a, std::int64_t tp) {
  const std::int64_t q_heads = query_heads_per_rank(a, tp);
  if (a.mla) {
    // Latents are expanded to keys and values of every head while a prompt is computed.
    return q_heads * (2 * a.head_dim + 2 * a.mla->v_head) + a.mla->kv_lora_rank + a.mla->qk_rope +
           a.mla->q_lora_rank;
  }
  const std::int64_t kv_heads = a.shares_kv ? 0 : kv_heads_per_rank(a, tp);
  const std::int64_t query = q_heads * a.head_dim * (a.output_gate ? 2 : 1);
  return query + kv_heads * (a.head_dim + a.v_head_dim) + q_heads * a.v_head_dim;
}

// Inputs of the recurrence, its convolved copy, gate and output.
std::int64_t recurrent_width(const RecurrentSpec& r, std::int64_t tp) {
  const std::int64_t value = r.value_heads * r.value_head_dim;
  const std::int64_t key = r.key_heads * r.key_head_dim;
  const bool value_only = r.family == RecurrentSpec::Family::mamba1 ||
                          r.family == RecurrentSpec::Family::short_convolution;
  const std::int64_t convolved = value_only ? value : value + 2 * key;
  return (2 * convolved + 2 * value) / tp;
}

// Every token of all data ranks is copied to its top_k experts. Where each expert is cut the copies
// keep their full width; whole experts see a share of the copies, equal shares assumed.
std::int64_t moe_width(const ModelSpec& model, const MoeSpec& moe, const Sharding& sharding) {
  const std::int64_t width = moe.latent > 0 ? moe.latent : model.hidden;
  const std::int64_t products = moe.gated ? 3 : 2;
  const std::int64_t shared = products * moe.shared_ffn / sharding.tensor;
  const std::int64_t copies = sharding.data * moe.top_k;
  if (!sharding.expert_parallel) {
    return copies * (products * moe.ffn / sharding.expert_cuts() + width) + shared;
  }
  return copies * (products * moe.ffn + width) / sharding.expert_ranks() + shared;
}

// A 2 x 2 merge of patches into soft tokens and an MLP four times as wide as the tower: the usual
// shape, not read from the model.
ByteCount vision_live_bytes(const ModelSpec& model, std::int64_t images) {
  if (!model.vision || images == 0) return 0;
  constexpr std::int64_t kPatchesPerToken = 4;
  constexpr std::int64_t kWidths = 2 + 4 + 4;  // residual, normed copy; q, k, v, output; MLP
  return images * model.vision->tokens_per_image * kPatchesPerToken * model.vision->hidden *
         kWidths * activation_bytes(model.dtype);
}

}  // namespace

ByteCount ActivationPeak::peak() const { return std::max({layers, logits, vision}); }

ByteCount layer_live_bytes(const ModelSpec& model, const LayerKind& kind, const Sharding& sharding,
                           std::int64_t tokens) {
  std::int64_t widest = 0;
  if (kind.attention) widest = attention_width(*kind.attention, sharding.tensor);
  if (kind.recurrent) widest = std::max(widest, recurrent_width(*kind.recurrent, sharding.tensor));
  std::int64_t mlp = 0;
  if (kind.mlp) mlp = (kind.mlp->gated ? 3 : 2) * kind.mlp->ffn / sharding.tensor;
  if (kind.moe) mlp = std::max(mlp, moe_width(model, *kind.moe, sharding));
  return tokens * activation_bytes(model.dtype) * (2 * model.hidden + std::max(widest, mlp));
}

ActivationPeak activation_peak(const ModelSpec& model, const Sharding& sharding, std::int64_t stage,
                               const ForwardPass& pass) {
  ActivationPeak peak;
  const StageLayers layers = stage_layers(model, sharding, stage);
  for (std::size_t i = layers.first; i < layers.last; ++i) {
    peak.layers =
        std::max(peak.layers, layer_live_bytes(model, model.layer(i), sharding, pass.tokens));
  }
  if (stage + 1 == sharding.pipeline) {
    // Sampling gathers the whole vocabulary on every rank and works in fp32.
    peak.logits = pass.logits_rows * model.vocab * (activation_bytes(model.dtype) + 4);
  }
  if (stage == 0) peak.vision = vision_live_bytes(model, pass.images);
  return peak;
}

ByteCount attention_score_bytes(const ModelSpec& model, const Sharding& sharding,
                                std::int64_t batch, std::int64_t tokens,
                                std::int64_t bytes_per_score) {
  std::int64_t heads = 0;
  for (const LayerKind& kind : model.kinds) {
    if (kind.attention) {
      heads = std::max(heads, query_heads_per_rank(*kind.attention, sharding.tensor));
    }
  }
  return batch * heads * tokens * tokens * bytes_per_score;
}

ByteCount communication_bytes(const Sharding& sharding) {
  const std::int64_t ranks = std::max(sharding.tensor, sharding.pipeline);
  return ranks == 1 ? 0 : (ranks == 2 ? 342 : 392) * kMib;
}

ByteCount decode_graph_bytes(std::int64_t sizes) { return sizes * 5 * kMib; }

ByteCount capacity_of(const BudgetInputs& inputs) {
  return inputs.machine.total_bytes > 0 ? inputs.machine.total_bytes
                                        : inputs.device.memory_reported_bytes;
}

void check_keeps_kv(const KvLayout& layout, const ModelSpec& model, std::string_view engine) {
  if (layout.bytes_per_token > 0 && layout.block_bytes > 0) return;
  throw ConfigError(fmt::format(
      "{}: a pipeline stage has no layer with KV; the memory rule of {} needs attention layers",
      model.id, engine));
}

ModelSpec without_states(ModelSpec model) {
  for (LayerKind& kind : model.kinds) kind.recurrent.reset();
  return model;
}

bool pool_is_allocatable(BudgetBuilder& builder, const MachineMemory& machine, ByteCount pool_bytes,
                         std::string_view text) {
  if (builder.failed()) return false;
  const ByteCount given = std::max<ByteCount>(0, builder.free_bytes() - machine.slack_bytes);
  if (pool_bytes <= given) return true;
  builder.fail({StartupStage::kv_allocation,
                fmt::format("{}: {:.2f} GiB of KV needed, but only {:.2f} GiB can be allocated",
                            text, gib_from_bytes(pool_bytes), gib_from_bytes(given)),
                pool_bytes, given, 0});
  return false;
}

}  // namespace headroom
