#include "sim/engines/fastertransformer/engine.hpp"

#include "sim/engines/engine_resolver.hpp"
#include "sim/engines/fastertransformer/budget.hpp"

namespace headroom {
namespace {

// Before it buffers had the configured sizes (ENGINES.md 1.7, two commits).
constexpr EngineVersion kBuffersPerBatch{5, 0};

std::vector<OwnRow> ft_rows() {
  using F = FtOptions;
  return own_rows<F>({
      {.name = "beam_width",
       .field = &F::beam_width,
       .unit = "beams",
       .bounds = {.low = 1, .high = 256},
       .doc = "hypotheses per request"},
  });
}

FtBudgetOptions ft_budget_options(const EngineSection& e, const EngineSystem& s) {
  FtBudgetOptions options;
  options.generation =
      s.version >= kBuffersPerBatch ? FtGeneration::per_batch : FtGeneration::configured;
  options.batch = {*e.max_batch_size, e.own.get<FtOptions>().beam_width, *e.max_input_tokens,
                   e.max_new_tokens};
  return options;
}

void resolve_ft(EngineResolver& r) {
  EngineSection& e = r.options;
  const FtBatch defaults = fastertransformer_defaults(r.system.model).batch;
  r.fill("/engine/max_batch_size", e.max_batch_size, defaults.sequences, "profile");
  r.fill("/engine/max_input_tokens", e.max_input_tokens, defaults.input_tokens, "profile");
  r.set_sizes(ft_budget_options(e, r.system).batch.sequence_tokens(), *e.max_batch_size,
              *e.max_batch_size * *e.max_input_tokens, 1);
}

std::span<const FixCandidate> fastertransformer_fixes() {
  using namespace fixes;
  static constexpr FixCandidate kFixes[] = {
      kSmallerBatch,  kLargerBatch,
      kShorterInput,  kLongerInput,
      kShorterOutput, {"/engine/beam_width", Try::ladder, Cost::quality, "greedy search", "1"},
      kMoreDevices};
  return kFixes;
}

}  // namespace

const Engine& fastertransformer_engine() {
  static const Engine kEngine{
      .name = "fastertransformer",
      .version = "5.3",
      .versioned = true,
      .newest = EngineVersion{5, 3},
      .summary = "FasterTransformer: static batches, batch x longest sequence at once",
      .budget_rule = "fastertransformer",
      .scheduler = "static",
      .allocator = "contiguous",
      .cost_family = "fastertransformer",
      .traits = {.forms_batches_blindly = true, .allocates_with_torch = false},
      .takes = {"version", "kv_cache_dtype", "max_batch_size", "max_input_tokens", "max_new_tokens",
                "memory_growth_mib_per_hour"},
      .options = ft_rows,
      .resolve = resolve_ft,
      .budget =
          [](const BudgetInputs& inputs, const EngineSection& e, const EngineSystem& s) {
            return fastertransformer_budget(inputs, ft_budget_options(e, s));
          },
      .budget_warnings =
          [](const BudgetInputs& inputs, const EngineSection& e, const EngineSystem& s) {
            return fastertransformer_budget_warnings(inputs, ft_budget_options(e, s));
          },
      .limit =
          [](const EngineSection& e, AdmissionLimits& limits) {
            limits.max_prompt_tokens = static_cast<std::int32_t>(*e.max_input_tokens);
            limits.max_output_tokens = static_cast<std::int32_t>(e.max_new_tokens);
          },
      .fixes = fastertransformer_fixes};
  return kEngine;
}

}  // namespace headroom
