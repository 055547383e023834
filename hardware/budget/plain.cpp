#include "hardware/budget/plain.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

// CUDA context with loaded kernels and cuBLAS workspaces: 551 MB measured (aiconfigurator).
constexpr ByteCount kContextBytes = 551'000'000;

// Largest live set of a forward pass (ENGINES.md 8): two copies of the hidden state, the attention
// products and the MLP's wide products; or the logits with their fp32 copy.
ByteCount activation_estimate(const ModelSpec& model, const PlainBudgetOptions& options) {
  const std::int64_t tp = options.tensor_parallel_size;
  const std::int64_t bytes = options.weights == Dtype::fp32 ? 4 : 2;
  const std::int64_t heads = 2 * query_heads_per_rank(model, tp) + 2 * kv_heads_per_rank(model, tp);
  std::int64_t mlp = 3 * model.ffn / tp;
  if (model.moe) {
    mlp = std::max(mlp, model.moe->top_k * (3 * model.moe->ffn / tp + model.hidden) +
                            3 * model.moe->shared_ffn / tp);
  }
  const ByteCount forward =
      options.max_step_tokens * bytes * (2 * model.hidden + heads * model.head_dim + mlp);
  const ByteCount logits = options.max_num_seqs * model.vocab * (bytes + 4);
  return std::max(forward, logits);
}

}  // namespace

MemoryBudget plain_budget(const ModelSpec& model, const DeviceSpec& device,
                          const PlainBudgetOptions& options) {
  if (!(options.memory_fraction > 0 && options.memory_fraction <= 1)) {
    throw ConfigError(
        fmt::format("memory_fraction {}: above 0 and up to 1", options.memory_fraction));
  }
  const ByteCount total = device.memory_reported_bytes;
  const ByteCount allowed = share_of(total, options.memory_fraction);
  const ByteCount weights = weight_bytes(model, options.weights, options.tensor_parallel_size);
  const ByteCount activations = activation_estimate(model, options);

  MemoryBudget budget;
  budget.layout =
      make_kv_layout(model, options.kv, options.tensor_parallel_size, options.block_size);
  BudgetBuilder builder(total);
  builder.charge(MemoryPurpose::context, kContextBytes, StartupStage::profiling);
  builder.charge(MemoryPurpose::weights, weights, StartupStage::weights);
  builder.charge(MemoryPurpose::activations, activations, StartupStage::profiling);
  place_pool(builder, allowed - weights - activations - kContextBytes, options.max_model_len, 0,
             budget);
  builder.finish(budget);
  return budget;
}

}  // namespace headroom
