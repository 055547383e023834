#include "sim/engines/papers/plain_budget.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "hardware/budget/activations.hpp"
#include "hardware/llm/kv_geometry.hpp"
#include "hardware/llm/parameters.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

// Elements per token of the widest layer (ENGINES.md 8): two copies of the hidden state, the
// attention products and the MLP's wide products.
std::int64_t widest_layer(const ModelSpec& model, std::int64_t tp) {
  std::int64_t heads = 0;
  std::int64_t mlp = 0;
  for (const LayerKind& kind : model.kinds) {
    if (kind.attention) {
      const AttentionSpec& a = *kind.attention;
      heads = std::max(
          heads, (2 * query_heads_per_rank(a, tp) + 2 * kv_heads_per_rank(a, tp)) * a.head_dim);
    }
    if (kind.mlp) mlp = std::max(mlp, 3 * kind.mlp->ffn / tp);
    if (kind.moe) {
      mlp = std::max(mlp, kind.moe->top_k * (3 * kind.moe->ffn / tp + model.hidden) +
                              3 * kind.moe->shared_ffn / tp);
    }
  }
  return 2 * model.hidden + heads + mlp;
}

// Largest live set: a forward pass, or the logits with their fp32 copy.
ByteCount activation_estimate(const BudgetInputs& in, const PlainBudgetOptions& options) {
  const std::int64_t bytes = activation_bytes(in.model.dtype);
  const ByteCount forward =
      options.max_step_tokens * bytes * widest_layer(in.model, in.sharding.tensor);
  return std::max(forward, options.max_num_seqs * in.model.vocab * (bytes + 4));
}

}  // namespace

MemoryBudget plain_budget(const BudgetInputs& inputs, const PlainBudgetOptions& options) {
  if (!(options.memory_fraction > 0 && options.memory_fraction <= 1)) {
    throw ConfigError(
        fmt::format("memory_fraction {}: above 0 and up to 1", options.memory_fraction));
  }
  check_sharding(inputs.model, inputs.sharding);
  const ByteCount total = inputs.machine.total_bytes;
  const ByteCount allowed = share_of(total, options.memory_fraction);
  return tightest_stage(inputs.sharding, [&](std::int64_t stage) {
    const ByteCount weights = rank_parts(inputs.model, inputs.sharding, stage).bytes_total();
    const ByteCount activations = activation_estimate(inputs, options);
    MemoryBudget budget;
    budget.layout =
        flat_kv_layout(inputs.model, {inputs.kv}, inputs.sharding, stage, options.block_size);
    BudgetBuilder builder(total);
    charge_machine(builder, inputs.machine);
    builder.charge(MemoryPurpose::context, kContextBytes, StartupStage::profiling);
    builder.charge(MemoryPurpose::weights, weights, StartupStage::weights);
    builder.charge(MemoryPurpose::activations, activations, StartupStage::profiling);
    const ByteCount available =
        std::min(allowed - weights - activations - kContextBytes, builder.free_bytes());
    place_pool(builder, {available, options.max_model_len, 1, 0}, budget);
    builder.finish(budget);
    return budget;
  });
}

}  // namespace headroom
