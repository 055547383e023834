#include "sim/engines/tgi/engine.hpp"

#include <algorithm>

#include "scheduler/batching/tgi.hpp"
#include "sim/engines/engine_resolver.hpp"
#include "sim/engines/tgi/budget.hpp"

namespace headroom {
namespace {

std::vector<OwnRow> tgi_rows() {
  using T = TgiOptions;
  return own_rows<T>({
      {.name = "max_batch_prefill_tokens",
       .field = &T::max_batch_prefill_tokens,
       .unit = "tokens",
       .bounds = kCount,
       .doc = "most tokens in a prefill batch; the warm-up runs one of this size",
       .absent = "max_input_tokens + 50"},
      {.name = "max_batch_total_tokens",
       .field = &T::max_batch_total_tokens,
       .unit = "tokens",
       .bounds = kCount,
       .doc = "most tokens of all running requests together",
       .absent = "by the start-up budget"},
      {.name = "max_concurrent_requests",
       .field = &T::max_concurrent_requests,
       .unit = "requests",
       .bounds = {.low = 1, .high = 1e6},
       .doc = "most requests accepted at once; the rest get 429"},
      {.name = "cuda_memory_fraction",
       .field = &T::cuda_memory_fraction,
       .unit = "share",
       .bounds = kShareAbove0,
       .doc = "share of total memory that the engine may use"},
      {.name = "attention",
       .field = &T::attention,
       .choices = "flashinfer|flashdecoding|paged",
       .doc = "attention kernels; they set the block size: 1, 256, 16",
       .absent = "by device and version"},
  });
}

// launcher/src/main.rs, resolve_attention: off where flashinfer does not know the heads.
void resolve_prefix_caching(EngineResolver& r) {
  EngineSystem& s = r.system;
  EngineSection& e = r.options;
  const std::string pointer = "/engine/enable_prefix_caching";
  std::int64_t head = 0;
  for (const LayerKind& kind : s.model.kinds) {
    if (kind.attention) head = kind.attention->head_dim;
  }
  const bool shares = *r.own<TgiOptions>().attention != "paged" && s.allocator->in_blocks;
  if (e.enable_prefix_caching.value_or(false) && !shares) {
    r.given.refuse(
        pointer,
        "TGI shares prefixes only with attention flashinfer or flashdecoding and only on blocks");
  }
  r.fill(pointer, e.enable_prefix_caching, shares && (head == 64 || head == 128 || head == 256),
         "on with flashinfer and flashdecoding, for heads of 64, 128 and 256");
}

void resolve_tgi(EngineResolver& r) {
  EngineSection& e = r.options;
  EngineSystem& s = r.system;
  auto& own = r.own<TgiOptions>();
  const TgiDefaults defaults = tgi_defaults(s.device, s.model, s.version);
  r.fill("/engine/max_input_tokens", e.max_input_tokens, defaults.max_input_tokens,
         "one less than the model's length, at most 4095");
  r.fill("/engine/max_batch_prefill_tokens", own.max_batch_prefill_tokens, *e.max_input_tokens + 50,
         "max_input_tokens + 50");
  r.fill("/engine/attention", own.attention,
         defaults.attention == TgiAttention::paged ? "paged" : "flashinfer", "by device");
  if (s.scheduler == &tgi_policy()) resolve_prefix_caching(r);
  r.own<TgiScheduling>().max_batch_prefill_tokens = *own.max_batch_prefill_tokens;
  // More than max_concurrent_requests are never in the engine at once.
  const std::int64_t sequences =
      std::min(e.max_batch_size.value_or(own.max_concurrent_requests), own.max_concurrent_requests);
  r.set_sizes(e.max_total_tokens.value_or(s.model.max_position), sequences,
              *own.max_batch_prefill_tokens, tgi_block_size(parse_tgi_attention(*own.attention)));
}

TgiBudgetOptions tgi_budget_options(const EngineSection& e, const EngineSystem& s) {
  const auto& own = e.own.get<TgiOptions>();
  TgiBudgetOptions options;
  options.version = s.version;
  options.attention = parse_tgi_attention(*own.attention);
  options.max_input_tokens = e.max_input_tokens;
  options.max_total_tokens = e.max_total_tokens;
  options.max_batch_prefill_tokens = own.max_batch_prefill_tokens;
  options.max_batch_total_tokens = own.max_batch_total_tokens;
  options.cuda_memory_fraction = own.cuda_memory_fraction;
  return options;
}

std::span<const FixCandidate> tgi_fixes() {
  using namespace fixes;
  static constexpr FixCandidate kFixes[] = {
      {"/engine/cuda_memory_fraction", Try::share_up, Cost::none, kSpare},
      {"/engine/max_total_tokens", Try::count_down, Cost::limits, kLonger, {}, Of::tokens},
      {"/engine/max_total_tokens", Try::count_up, Cost::none, kLength, {}, Of::tokens},
      kShorterInput,
      {"/engine/max_batch_prefill_tokens",
       Try::count_down,
       Cost::speed,
       kSteps,
       {},
       Of::other,
       128},
      kWeightsIn8Or4Bit,
      kMoreDevices};
  return kFixes;
}

}  // namespace

const Engine& tgi_engine() {
  static const Engine kEngine{
      .name = "tgi",
      .version = "3.3",
      .versioned = true,
      .newest = kNewestTgi,
      .summary = "Text Generation Inference: prompt + max_new_tokens set aside, no preemption",
      .budget_rule = "tgi",
      .scheduler = "tgi",
      .cost_family = "tgi",
      .traits = {.decides_prefix_caching = true, .loads_gguf = false, .halves_fp32 = true},
      .takes = {"version", "kv_cache_dtype", "max_batch_size", "max_input_tokens",
                "max_total_tokens", "memory_growth_mib_per_hour"},
      .options = tgi_rows,
      .launch = &kTgiLaunch,
      .metric_prefixes = "tgi_",
      .resolve = resolve_tgi,
      .budget = [](const BudgetInputs& inputs, const EngineSection& e,
                   const EngineSystem& s) { return tgi_budget(inputs, tgi_budget_options(e, s)); },
      .budget_warnings =
          [](const BudgetInputs& inputs, const EngineSection& e, const EngineSystem& s) {
            return tgi_budget_warnings(inputs, tgi_budget_options(e, s));
          },
      .limit =
          [](const EngineSection& e, AdmissionLimits& limits) {
            limits.max_prompt_tokens = static_cast<std::int32_t>(*e.max_input_tokens);
            limits.max_requests = e.own.get<TgiOptions>().max_concurrent_requests;
          },
      .fixes = tgi_fixes};
  return kEngine;
}

}  // namespace headroom
