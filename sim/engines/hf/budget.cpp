#include "sim/engines/hf/budget.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "hardware/budget/activations.hpp"
#include "hardware/llm/kv_geometry.hpp"
#include "hardware/llm/parameters.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

constexpr EngineVersion kKeepsOnePosition{4, 45};

void check(const HfGenerateOptions& options, const HfBatch& batch) {
  if (!(options.fragmentation >= 0 && options.fragmentation <= 1)) {
    throw ConfigError(fmt::format("fragmentation {}: 0 to 1", options.fragmentation));
  }
  if (batch.sequences < 1 || batch.prompt_tokens < 1 || batch.new_tokens < 1) {
    throw ConfigError("max_batch_size, max_input_tokens and max_new_tokens: at least 1");
  }
}

// Sharded over devices by layers (device_map), which is a pipeline whose stages take turns. Windows
// are not used: every layer keeps every token.
KvLayout layout_of(const BudgetInputs& inputs, std::int64_t stage) {
  return flat_kv_layout(inputs.model, {inputs.kv, false}, inputs.sharding, stage, 1);
}

ByteCount kv_bytes(const BudgetInputs& inputs, std::int64_t stage, TokenCount tokens) {
  const KvLayout layout = layout_of(inputs, stage);
  return tokens * layout.bytes_per_token + layout.state_bytes_per_sequence;
}

double transient_share(const ModelSpec& model, const HfGenerateOptions& options) {
  if (options.forward_only || options.cache_implementation == HfCache::fixed) return 0;
  return 1.0 / static_cast<double>(std::max<std::int64_t>(model.layers(), 1)) +
         options.fragmentation;
}

ByteCount share(ByteCount bytes, double part) {
  return static_cast<ByteCount>(static_cast<double>(bytes) * part);
}

HfPeak peak_of(const BudgetInputs& inputs, const HfGenerateOptions& options, const HfBatch& batch,
               std::int64_t stage) {
  const bool last = stage + 1 == inputs.sharding.pipeline;
  HfPeak peak;
  peak.weights = rank_parts(inputs.model, inputs.sharding, stage).bytes_total();
  if (options.forward_only) {
    peak.kv = batch.sequences * kv_bytes(inputs, stage, batch.prompt_tokens);
    peak.logits = last ? batch.sequences * batch.prompt_tokens * inputs.model.vocab *
                             activation_bytes(inputs.model.dtype)
                       : 0;
    peak.activations = bytes_from_gib(kForwardRestGib);
    return peak;
  }
  peak.context = kContextBytes;
  peak.kv = batch.sequences * kv_bytes(inputs, stage, batch.prompt_tokens + batch.new_tokens);
  peak.transient = share(peak.kv, transient_share(inputs.model, options));
  const ForwardPass pass{batch.sequences * batch.prompt_tokens, 0, 0};
  peak.activations = activation_peak(inputs.model, inputs.sharding, stage, pass).peak();
  if (last) peak.logits = hf_logits_bytes(inputs.model, options.version, batch);
  if (options.attn_implementation == HfAttention::eager) {
    peak.scores = attention_score_bytes(inputs.model, inputs.sharding, batch.sequences,
                                        batch.prompt_tokens, 2 + 4);
  }
  return peak;
}

void charge_batch(BudgetBuilder& builder, const HfPeak& peak, const HfBatch& batch) {
  const ByteCount wanted = peak.activations + peak.logits + peak.scores + peak.kv + peak.transient;
  if (builder.failed()) return;
  if (wanted > builder.free_bytes()) {
    builder.fail(
        {StartupStage::warm_up,
         fmt::format("CUDA out of memory: a batch of {} x ({} + {}) tokens needs {:.2f} GiB beside "
                     "the weights (activations {:.2f}, logits {:.2f}, scores {:.2f}, KV {:.2f}), "
                     "{:.2f} GiB are free",
                     batch.sequences, batch.prompt_tokens, batch.new_tokens, gib_from_bytes(wanted),
                     gib_from_bytes(peak.activations), gib_from_bytes(peak.logits),
                     gib_from_bytes(peak.scores), gib_from_bytes(peak.kv + peak.transient),
                     gib_from_bytes(builder.free_bytes())),
         wanted, builder.free_bytes(), 0});
    return;
  }
  builder.charge(MemoryPurpose::activations, peak.activations + peak.logits + peak.scores,
                 StartupStage::warm_up);
}

MemoryBudget stage_budget(const BudgetInputs& inputs, const HfGenerateOptions& options,
                          const HfBatch& batch, std::int64_t stage) {
  const HfPeak peak = peak_of(inputs, options, batch, stage);
  MemoryBudget budget;
  budget.layout = layout_of(inputs, stage);
  check_keeps_kv(budget.layout, inputs.model, "transformers generate");
  BudgetBuilder builder(capacity_of(inputs));
  charge_machine(builder, inputs.machine);
  builder.charge(MemoryPurpose::context, peak.context, StartupStage::weights);
  builder.charge(MemoryPurpose::weights, peak.weights, StartupStage::weights);
  charge_batch(builder, peak, batch);
  if (!builder.failed()) {
    const ByteCount left =
        std::max<ByteCount>(0, builder.free_bytes() - inputs.machine.slack_bytes);
    const auto kv = static_cast<ByteCount>(static_cast<double>(left) /
                                           (1.0 + transient_share(inputs.model, options)));
    place_pool(builder,
               {.available_bytes = kv, .max_model_len = batch.prompt_tokens + batch.new_tokens},
               budget);
  }
  builder.finish(budget);
  return budget;
}

}  // namespace

HfAttention parse_hf_attention(std::string_view name) {
  if (name == "eager") return HfAttention::eager;
  if (name == "sdpa") return HfAttention::sdpa;
  if (name == "flash_attention_2") return HfAttention::flash_attention_2;
  throw ConfigError(
      fmt::format("attn_implementation '{}': one of eager, sdpa, flash_attention_2", name));
}

HfCache parse_hf_cache(std::string_view name) {
  if (name == "dynamic") return HfCache::dynamic;
  if (name == "static") return HfCache::fixed;
  throw ConfigError(fmt::format("cache_implementation '{}': dynamic or static", name));
}

HfDefaults hf_generate_defaults(const DeviceSpec& /*device*/, const ModelSpec& /*model*/,
                                EngineVersion version) {
  HfDefaults defaults;
  // sdpa is the default since 4.36, where the model has it (recalled from the release notes).
  if (version < EngineVersion{4, 36}) defaults.attn_implementation = HfAttention::eager;
  return defaults;
}

ByteCount hf_logits_bytes(const ModelSpec& model, EngineVersion version, const HfBatch& batch) {
  const std::int64_t element = activation_bytes(model.dtype);
  if (version >= kKeepsOnePosition) return batch.sequences * model.vocab * (element + 4);
  return batch.sequences * batch.prompt_tokens * model.vocab * (element + 4);
}

HfPeak hf_peak(const BudgetInputs& inputs, const HfGenerateOptions& options, const HfBatch& batch) {
  check(options, batch);
  HfPeak highest;
  for (std::int64_t stage = 0; stage < inputs.sharding.pipeline; ++stage) {
    const HfPeak peak = peak_of(inputs, options, batch, stage);
    if (peak.total() > highest.total()) highest = peak;
  }
  return highest;
}

std::int64_t hf_largest_batch(const BudgetInputs& inputs, const HfGenerateOptions& options,
                              HfBatch batch) {
  const ByteCount room =
      capacity_of(inputs) - inputs.machine.not_free_bytes() - inputs.machine.slack_bytes;
  const auto fits = [&](std::int64_t sequences) {
    batch.sequences = sequences;
    return hf_peak(inputs, options, batch).total() <= room;
  };
  std::int64_t low = 0;   // fits
  std::int64_t high = 1;  // perhaps not
  while (high < (std::int64_t{1} << 20) && fits(high)) {
    low = high;
    high *= 2;
  }
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

MemoryBudget hf_generate_budget(const BudgetInputs& inputs, const HfGenerateOptions& options,
                                const HfBatch& batch) {
  check(options, batch);
  return tightest_stage(inputs.sharding, [&](std::int64_t stage) {
    return stage_budget(inputs, options, batch, stage);
  });
}

ByteCount usable_fraction_pool(ByteCount total, ByteCount weights, double fraction) {
  return share(std::max<ByteCount>(0, total - weights), fraction);
}

std::vector<std::string> hf_generate_budget_warnings(const BudgetInputs& inputs,
                                                     const HfGenerateOptions& options) {
  std::vector<std::string> warnings;
  if (options.version > kNewestHf) {
    warnings.push_back(
        fmt::format("transformers {} is newer than {}, the newest release whose memory use is "
                    "modelled",
                    to_string(options.version), to_string(kNewestHf)));
  }
  if (!options.forward_only) {
    warnings.emplace_back(
        "transformers: activations, context and fragmentation of a growing cache are estimates; "
        "only a plain forward pass was compared with measurements");
  }
  const bool windows = std::ranges::any_of(inputs.model.kinds, [](const LayerKind& kind) {
    return kind.attention && kind.attention->window_tokens > 0;
  });
  if (windows) {
    warnings.push_back(
        fmt::format("transformers: the cache of {} is sized without its sliding windows, which "
                    "recent releases use",
                    inputs.model.id));
  }
  if (inputs.sharding.tensor > 1) {
    warnings.emplace_back(
        "transformers: tensor parallelism is rare (tp_plan); to place whole layers on devices, as "
        "device_map does, set pipeline_parallel_size");
  }
  return warnings;
}

}  // namespace headroom
