#include "sim/memory/capacity_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "hardware/llm/parameters.hpp"
#include "sim/engines/hf/budget.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/saturating.hpp"
#include "sim/resolve/startup_budget.hpp"

namespace headroom {
namespace {

// The model with keys and values of its own for every query head.
ModelSpec multi_head(ModelSpec model) {
  for (LayerKind& kind : model.kinds) {
    if (!kind.attention) continue;
    AttentionSpec& a = *kind.attention;
    a.kv_heads = a.q_heads;
    a.keeps_values = true;
    a.compress_ratio = 1;
    a.mla.reset();
    a.indexer.reset();
  }
  return model;
}

ByteCount over_stages(const Resolved& r, const auto& of_stage) {
  ByteCount most = 0;
  for (std::int64_t stage = 0; stage < r.sharding.pipeline; ++stage) {
    most = std::max(most, of_stage(stage));
  }
  return most;
}

ByteCount scaled(ByteCount bytes, double scale) {
  return static_cast<ByteCount>(static_cast<double>(bytes) * scale + 0.5);
}

KvLayout scaled_layout(KvLayout layout, double scale) {
  const bool whole_tokens = layout.block_bytes == layout.bytes_per_token * layout.block_tokens;
  layout.bytes_per_token = std::max<ByteCount>(1, scaled(layout.bytes_per_token, scale));
  layout.block_bytes = whole_tokens ? layout.bytes_per_token * layout.block_tokens
                                    : std::max<ByteCount>(1, scaled(layout.block_bytes, scale));
  return layout;
}

ByteCount stage_request_bytes(const Resolved& r, const Sharding& sharding, std::int64_t stage,
                              const TokenBytes& token, TokenCount tokens) {
  const ByteCount all =
      sequence_bytes(kv_classes(r.model, kv_format(r), sharding, stage), tokens) / sharding.context;
  if (!token.override_model) return all;
  const ByteCount states = state_bytes_per_sequence(r.model, sharding, stage);
  return states + scaled(all - states, token.scale());
}

bool is_about_the_pool(StartupStage stage) {
  return stage == StartupStage::blocks || stage == StartupStage::max_length_request;
}

// The engine's pool cut into blocks of another size. The rule's bytes for KV stay as they are.
MemoryBudget with_token_bytes(const Resolved& r, const MemoryBudget& original, double scale,
                              bool automatic_length) {
  MemoryBudget budget = original;
  budget.layout = scaled_layout(original.layout, scale);
  if (original.failure && !is_about_the_pool(original.failure->stage)) return budget;
  BudgetBuilder builder(original.capacity_bytes);
  for (std::size_t i = 0; i < kMemoryPurposeCount; ++i) {
    const auto purpose = static_cast<MemoryPurpose>(i);
    if (purpose == MemoryPurpose::kv_pool || purpose == MemoryPurpose::margin) continue;
    builder.charge(purpose, original.terms.bytes[i], StartupStage::kv_allocation);
  }
  PoolRule rule;
  rule.available_bytes = std::max(original.kv_available_bytes, original.kv_pool_bytes);
  if (const auto& blocks = r.scenario.engine.num_gpu_blocks_override) {
    rule.available_bytes = saturating_product(*blocks, budget.layout.block_bytes);
  }
  rule.max_model_len = automatic_length ? -1 : original.max_model_len;
  rule.step_tokens = original.step_tokens;
  const bool has_null_block = original.total_blocks > original.usable_blocks ||
                              (original.failure && r.engine->traits.groups_layers);
  rule.null_blocks = has_null_block ? 1 : 0;
  if (r.model.max_position > 0) rule.longest = r.model.max_position;
  budget.kv_pool_bytes = budget.kv_tokens = 0;
  budget.total_blocks = budget.usable_blocks = 0;
  budget.max_concurrency = 0;
  place_pool(builder, rule, budget);
  builder.finish(budget);
  return budget;
}

// A share of what the weights leave, in single tokens. It is no engine's rule, so no length is
// refused.
MemoryBudget fraction_budget(const Resolved& r, double fraction, double scale) {
  MemoryBudget budget;
  budget.layout = flat_kv_layout(r.model, kv_format(r), r.sharding, 0, 1);
  if (scale != 1.0) budget.layout = scaled_layout(budget.layout, scale);
  BudgetBuilder builder(r.device.memory_reported_bytes);
  builder.charge(MemoryPurpose::weights, rank_weight_bytes(r.model, r.sharding),
                 StartupStage::weights);
  PoolRule rule;
  rule.available_bytes = usable_fraction_pool(r.device.memory_reported_bytes,
                                              rank_weight_bytes(r.model, r.sharding), fraction);
  rule.max_model_len = -1;
  rule.longest = kMostContextTokens;
  place_pool(builder, rule, budget);
  builder.finish(budget);
  return budget;
}

}  // namespace

double TokenBytes::saved() const {
  if (multi_head == 0) return 0;
  return 1 - static_cast<double>(model) / static_cast<double>(multi_head);
}

double TokenBytes::scale() const {
  return override_model ? *override_model / static_cast<double>(model) : 1.0;
}

TokenBytes token_bytes(const Resolved& r, std::optional<double> override_model) {
  const KvFormat format = kv_format(r);
  TokenBytes token;
  token.rank = over_stages(r, [&](std::int64_t stage) {
    return kv_bytes_per_token(r.model, format, r.sharding, stage) / r.sharding.context;
  });
  token.model = kv_bytes_per_token(r.model, format, Sharding{});
  token.multi_head = kv_bytes_per_token(multi_head(r.model), format, Sharding{});
  token.override_model = override_model;
  if (override_model && token.model == 0) {
    throw ConfigError(fmt::format("--kv-bytes-per-token {}: {} stores nothing per token",
                                  *override_model, r.model.id));
  }
  return token;
}

ByteCount request_bytes(const Resolved& r, const TokenBytes& token, TokenCount tokens) {
  return over_stages(r, [&](std::int64_t stage) {
    return stage_request_bytes(r, r.sharding, stage, token, tokens);
  });
}

ByteCount model_request_bytes(const Resolved& r, const TokenBytes& token, TokenCount tokens) {
  return stage_request_bytes(r, Sharding{}, 0, token, tokens);
}

StartUp start_engine(Resolved resolved, const TokenBytes& token,
                     std::optional<double> usable_fraction) {
  const double scale = token.scale();
  if (usable_fraction) {
    MemoryBudget budget = fraction_budget(resolved, *usable_fraction, scale);
    const TokenCount tokens = budget.failure ? 0 : budget.kv_tokens;
    return {std::move(resolved), std::move(budget), tokens};
  }
  const bool automatic = resolved.max_model_len < 0;
  auto [r, budget] = budgeted(std::move(resolved));
  if (token.override_model) {
    budget = with_token_bytes(r, budget, scale, automatic);
    if (automatic) r.max_model_len = static_cast<std::int32_t>(budget.max_model_len);
  }
  const TokenCount tokens = budget.failure ? 0 : pool_tokens(r, budget);
  return {std::move(r), std::move(budget), tokens};
}

}  // namespace headroom
