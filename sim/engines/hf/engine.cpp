#include "sim/engines/hf/engine.hpp"

#include "sim/engines/engine_resolver.hpp"
#include "sim/engines/hf/budget.hpp"

namespace headroom {
namespace {

std::vector<OwnRow> hf_rows() {
  using H = HfOptions;
  return own_rows<H>({
      {.name = "attn_implementation",
       .field = &H::attn_implementation,
       .choices = "eager|sdpa|flash_attention_2",
       .doc = "attention kernels; eager keeps the score matrix of a layer"},
      {.name = "cache_implementation",
       .field = &H::cache_implementation,
       .choices = "dynamic|static",
       .doc = "a cache that grows by concatenation, or one allocated in full at once"},
  });
}

void resolve_hf(EngineResolver& r) {
  EngineSection& e = r.options;
  const ModelSpec& model = r.system.model;
  r.fill("/engine/max_batch_size", e.max_batch_size, 1, "one sequence unless the caller batches");
  r.fill("/engine/max_input_tokens", e.max_input_tokens, HfBatch{}.prompt_tokens, "profile");
  const std::int64_t length = *e.max_input_tokens + e.max_new_tokens;
  if (model.max_position > 0 && length > model.max_position) {
    r.warn(fmt::format("prompt and output of {} tokens: {} was trained for {}", length, model.id,
                       model.max_position));
  }
  r.set_sizes(length, *e.max_batch_size, *e.max_batch_size * *e.max_input_tokens, 1);
}

HfGenerateOptions generate_options(const EngineSection& e, const EngineSystem& s) {
  const auto& own = e.own.get<HfOptions>();
  HfGenerateOptions options;
  options.version = s.version;
  options.attn_implementation = parse_hf_attention(own.attn_implementation);
  options.cache_implementation = parse_hf_cache(own.cache_implementation);
  return options;
}

std::span<const FixCandidate> hf_fixes() {
  using namespace fixes;
  static constexpr FixCandidate kFixes[] = {
      {"/engine/attn_implementation", Try::ladder, Cost::none, "no score matrix is kept",
       "sdpa|flash_attention_2"},
      kSmallerBatch,
      kLargerBatch,
      kShorterInput,
      kLongerInput,
      kShorterOutput,
      {"/engine/quantization", Try::ladder, Cost::quality, kWeights, "int8|bitsandbytes"}};
  return kFixes;
}

}  // namespace

const Engine& hf_engine() {
  static const Engine kEngine{
      .name = "hf",
      .version = "4.57",
      .versioned = true,
      .newest = kNewestHf,
      .summary = "Hugging Face generate: padded static batches, a cache that grows",
      .measured = "memory",
      .budget_rule = "hf_generate",
      .scheduler = "static",
      .cost_family = "hf",
      .traits = {.devices_share_layers = true,
                 .forms_batches_blindly = true,
                 .ends_with_model_only = true},
      .takes = {"version", "kv_cache_dtype", "max_batch_size", "max_input_tokens",
                "max_new_tokens"},
      .options = hf_rows,
      .allocator_for = [](const EngineSection& e) -> std::string_view {
        const std::string& cache = e.own.get<HfOptions>().cache_implementation;
        return parse_hf_cache(cache) == HfCache::fixed ? "contiguous" : "paged";
      },
      .resolve = resolve_hf,
      .budget =
          [](const BudgetInputs& inputs, const EngineSection& e, const EngineSystem& s) {
            return hf_generate_budget(
                inputs, generate_options(e, s),
                HfBatch{*e.max_batch_size, *e.max_input_tokens, e.max_new_tokens});
          },
      .budget_warnings =
          [](const BudgetInputs& inputs, const EngineSection& e, const EngineSystem& s) {
            return hf_generate_budget_warnings(inputs, generate_options(e, s));
          },
      .limit =
          [](const EngineSection& e, AdmissionLimits& limits) {
            // The engine does not check lengths: a batch that does not fit kills the process.
            limits.max_request_tokens = INT64_MAX;
            limits.max_output_tokens = static_cast<std::int32_t>(e.max_new_tokens);
          },
      .fixes = hf_fixes};
  return kEngine;
}

}  // namespace headroom
