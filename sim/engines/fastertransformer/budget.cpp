#include "sim/engines/fastertransformer/budget.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "hardware/budget/activations.hpp"
#include "hardware/llm/parameters.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

constexpr std::int64_t kRankVocabPadding = 8;  // per tensor rank, for 16-bit tensor cores

void check(const FtBatch& b) {
  if (b.sequences < 1 || b.beam_width < 1 || b.input_tokens < 1 || b.output_tokens < 1) {
    throw ConfigError(
        "max_batch_size, beam_width, max_input_tokens and max_new_tokens: at least 1");
  }
}

// Width of K (or V) of a token: one head per query head, grouped heads are not known.
std::int64_t cache_width(const ModelSpec& model) {
  std::int64_t width = 0;
  for (const LayerKind& kind : model.kinds) {
    if (kind.attention) {
      width = std::max(width, kind.attention->q_heads * kind.attention->head_dim);
    }
  }
  return width > 0 ? width : model.hidden;
}

std::int64_t stage_layer_count(const ModelSpec& model, const Sharding& sharding,
                               std::int64_t stage) {
  const StageLayers layers = stage_layers(model, sharding, stage);
  return static_cast<std::int64_t>(layers.last - layers.first);
}

ByteCount cache_bytes_per_token(const ModelSpec& model, const Sharding& sharding,
                                std::int64_t stage) {
  return 2 * stage_layer_count(model, sharding, stage) * cache_width(model) / sharding.tensor *
         activation_bytes(model.dtype);
}

std::int64_t enlarged(std::int64_t size) { return (size * 12 + 9) / 10; }

MemoryBudget stage_budget(const BudgetInputs& inputs, const FtBudgetOptions& options,
                          std::int64_t stage) {
  const FtBatch& batch = options.batch;
  const FtBuffers buffers = ft_buffers(inputs.model, inputs.sharding, options, stage);
  MemoryBudget budget;
  budget.layout = uniform_layout(
      static_cast<std::int32_t>(stage_layer_count(inputs.model, inputs.sharding, stage)),
      cache_bytes_per_token(inputs.model, inputs.sharding, stage), 1);
  BudgetBuilder builder(capacity_of(inputs));
  charge_machine(builder, inputs.machine);
  builder.charge(MemoryPurpose::context, kContextBytes, StartupStage::weights);
  builder.charge(MemoryPurpose::communication, communication_bytes(inputs.sharding),
                 StartupStage::weights);
  builder.charge(MemoryPurpose::weights,
                 rank_parts(inputs.model, inputs.sharding, stage).bytes_total(),
                 StartupStage::weights);
  const ByteCount left = builder.free_bytes();
  if (pool_is_allocatable(builder, inputs.machine, buffers.total(),
                          "[FT][ERROR] CUDA runtime error: out of memory")) {
    builder.charge(MemoryPurpose::kv_pool, buffers.second_cache, StartupStage::kv_allocation);
    builder.charge(MemoryPurpose::activations,
                   buffers.total() - buffers.cache - buffers.second_cache,
                   StartupStage::kv_allocation);
    place_pool(builder,
               {.available_bytes = buffers.cache, .max_model_len = batch.sequence_tokens()},
               budget);
    budget.kv_available_bytes = left - (buffers.total() - buffers.cache);
  }
  builder.finish(budget);
  return budget;
}

}  // namespace

FtDefaults fastertransformer_defaults(const ModelSpec& model) {
  FtDefaults defaults;
  if (model.position_rows > 1) {  // a learned position table ends there
    defaults.batch.input_tokens = std::min<std::int64_t>(1024, model.position_rows / 2);
    defaults.batch.output_tokens = defaults.batch.input_tokens;
  }
  return defaults;
}

FtBuffers ft_buffers(const ModelSpec& model, const Sharding& sharding,
                     const FtBudgetOptions& options, std::int64_t stage) {
  const FtBatch& b = options.batch;
  check(b);
  const std::int64_t rows = b.sequences * b.beam_width;
  const std::int64_t tokens = b.sequence_tokens();
  const std::int64_t element = activation_bytes(model.dtype);
  const std::int64_t pad = kRankVocabPadding * sharding.tensor;
  const std::int64_t vocab = (model.vocab + pad - 1) / pad * pad;
  FtBuffers buffers;
  buffers.cache = rows * tokens * cache_bytes_per_token(model, sharding, stage);
  if (b.beam_width > 1 && options.generation == FtGeneration::configured) {
    buffers.second_cache = buffers.cache;
  }
  if (b.beam_width > 1 && options.generation == FtGeneration::per_batch) {
    buffers.indirection = 2 * rows * tokens * 4;
  }
  buffers.mask = rows * tokens * tokens * element;
  buffers.logits = 2 * rows * vocab * 4;
  buffers.context = 2 * rows * b.input_tokens * model.hidden * element;
  buffers.scores = attention_score_bytes(model, sharding, b.sequences, b.input_tokens,
                                         options.fp32_context_scores ? 4 : element);
  return buffers;
}

FtBatch ft_reallocated(const FtBudgetOptions& options, const FtBatch& wanted) {
  check(wanted);
  const FtBatch& have = options.batch;
  if (options.generation == FtGeneration::per_batch) return wanted;
  const bool fits = wanted.sequences <= have.sequences && wanted.beam_width <= have.beam_width &&
                    wanted.input_tokens <= have.input_tokens &&
                    wanted.sequence_tokens() <= have.sequence_tokens();
  if (fits) return have;
  FtBatch made = wanted;
  made.sequences = enlarged(wanted.sequences);
  made.input_tokens = enlarged(wanted.input_tokens);
  made.output_tokens = enlarged(wanted.sequence_tokens()) - made.input_tokens;
  return made;
}

MemoryBudget fastertransformer_budget(const BudgetInputs& inputs, const FtBudgetOptions& options) {
  check(options.batch);
  return tightest_stage(inputs.sharding,
                        [&](std::int64_t stage) { return stage_budget(inputs, options, stage); });
}

std::vector<std::string> fastertransformer_budget_warnings(const BudgetInputs& inputs,
                                                           const FtBudgetOptions& /*options*/) {
  std::vector<std::string> warnings{
      "FasterTransformer: buffer sizes follow its source code and were not compared with "
      "measurements; the CUDA context is an estimate"};
  bool grouped = false;
  bool other = false;
  for (const LayerKind& kind : inputs.model.kinds) {
    grouped |= kind.attention && (kind.attention->kv_heads < kind.attention->q_heads ||
                                  kind.attention->mla.has_value());
    other |= kind.recurrent.has_value() || kind.moe.has_value() || !kind.attention;
  }
  if (grouped) {
    warnings.push_back(
        fmt::format("FasterTransformer has no grouped KV heads, so {} is sized with as many KV "
                    "heads as query heads",
                    inputs.model.id));
  }
  if (other) {
    warnings.push_back(fmt::format(
        "FasterTransformer runs only dense attention models, and {} is not one", inputs.model.id));
  }
  return warnings;
}

}  // namespace headroom
