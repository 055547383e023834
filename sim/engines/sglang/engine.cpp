#include "sim/engines/sglang/engine.hpp"

#include <algorithm>

#include "hardware/llm/kv_geometry.hpp"
#include "scheduler/batching/sglang.hpp"
#include "sim/engines/engine_resolver.hpp"
#include "sim/engines/sglang/budget.hpp"
#include "sim/engines/sglang/rules.hpp"
#include "sim/engines/sglang/speculation.hpp"

namespace headroom {
namespace {

// Pull request 11299, October 2025, within the 0.5 series; 0.5.0 to 0.5.2 still read MemFree.
constexpr EngineVersion kSglangReadsAvailable{0, 5};
// Pull request 9989, September 2025, within the 0.5 series.
constexpr EngineVersion kSglangRetractsLess{0, 5};

// server_args.py, _handle_data_parallelism.
constexpr double kConservativenessOfRanks = 0.3;

constexpr std::string_view kWithDrafts =
    "/engine/speculative_config/method=ngram|eagle|eagle3|mtp|dflash|draft_model";

// The engine's rules ask whether these were given.
const std::string kFraction = "/engine/mem_fraction_static";
const std::string kRunning = "/engine/max_running_requests";

std::vector<OwnRow> size_rows() {
  using S = SglangOptions;
  return own_rows<S>({
      {.name = "mem_fraction_static",
       .field = &S::mem_fraction_static,
       .unit = "share",
       .bounds = {.low = 0, .high = 1, .low_open = true, .high_open = true},
       .doc = "share of the memory available before loading that weights and KV may use",
       .absent = "by device, chunk size and graph sizes"},
      {.name = "chunked_prefill_size",
       .field = &S::chunked_prefill_size,
       .unit = "tokens",
       .bounds = {.low = -1, .high = 1e9},
       .doc = "size of a prefill chunk; -1 = whole prompts",
       .absent = "by device"},
      {.name = "max_running_requests",
       .field = &S::max_running_requests,
       .unit = "sequences",
       .bounds = {.low = 1, .high = 1e6},
       .doc = "most requests in a batch",
       .absent = "by pool size and context length"},
      {.name = "context_length",
       .field = &S::context_length,
       .unit = "tokens",
       .bounds = kCount,
       .doc = "longest prompt + output of a request",
       .absent = "the model's context length"},
      {.name = "page_size",
       .field = &S::page_size,
       .unit = "tokens",
       .bounds = {.low = 1, .high = 4096},
       .doc = "size of a KV page"},
      {.name = "cuda_graph_max_bs",
       .field = &S::cuda_graph_max_bs,
       .unit = "sequences",
       .bounds = {.low = 1, .high = 1e5},
       .doc = "largest batch with a captured graph",
       .absent = "by device"},
  });
}

// Of recurrent layers.
std::vector<OwnRow> state_rows() {
  using S = SglangOptions;
  return own_rows<S>({
      {.name = "mamba_full_memory_ratio",
       .field = &S::mamba_full_memory_ratio,
       .unit = "ratio",
       .bounds = {.low = 0, .high = 1000, .low_open = true},
       .doc = "memory of recurrent states / memory of KV"},
      {.name = "max_mamba_cache_size",
       .field = &S::max_mamba_cache_size,
       .unit = "states",
       .bounds = kCount,
       .doc = "recurrent states that are kept",
       .absent = "by mamba_full_memory_ratio"},
      {.name = "mamba_scheduler_strategy",
       .field = &S::mamba_scheduler_strategy,
       .choices = "auto|no_buffer|extra_buffer|extra_buffer_lazy",
       .doc = "whether a request has a second recurrent state, with which steps are planned ahead "
              "and drafts keep the radix cache; its memory is not counted; auto: by version"},
  });
}

std::vector<OwnRow> sglang_rows() {
  using S = SglangOptions;
  using P = SglangScheduling;
  std::vector<OwnRow> rows = size_rows();
  const auto add = [&rows](std::vector<OwnRow> more) {
    std::ranges::move(more, std::back_inserter(rows));
  };
  add(own_rows<S>({
      {.name = "disable_overlap_schedule",
       .field = &S::disable_overlap_schedule,
       .doc = "plan a step only after the last one has ended"},
      {.name = "disable_cuda_graph",
       .field = &S::disable_cuda_graph,
       .doc = "capture no CUDA graphs"},
      {.name = "swa_full_tokens_ratio",
       .field = &S::swa_full_tokens_ratio,
       .unit = "share",
       .bounds = {.low = 0, .high = 1, .low_open = true},
       .doc = "tokens of the pool of windowed layers / tokens of the other pool"},
      {.name = "piecewise_cuda_graph",
       .field = &S::piecewise_cuda_graph,
       .doc = "capture prefills in pieces, for which the default fraction keeps memory back",
       .absent = "on since 0.5.10 for one stage of a text model; from 0.5.15 without MLA"},
  }));
  add(state_rows());
  add(own_rows<S>({
      {.name = "speculative_eagle_topk",
       .field = &S::speculative_eagle_topk,
       .unit = "drafts",
       .bounds = {.low = 1, .high = 64},
       .doc = "candidates of each level of a tree of drafts; 1: a chain",
       .absent = "1 where num_speculative_tokens is given; else by model and release",
       .only_with = kWithDrafts},
      {.name = "speculative_num_draft_tokens",
       .field = &S::speculative_num_draft_tokens,
       .unit = "tokens",
       .bounds = {.low = 2, .high = 1024},
       .doc = "tokens of a sequence that a round verifies, its next one included",
       .absent = "one more than num_speculative_tokens, but for a tree",
       .only_with = kWithDrafts},
      {.name = "enable_spec_v2",
       .field = &S::enable_spec_v2,
       .doc = "the second worker of speculative decoding, whose host work runs beside the device's "
              "(SGLANG_ENABLE_SPEC_V2, 0.5.4 to 0.5.13)",
       .absent = "by release: on since 0.5.11",
       .only_with = kWithDrafts},
  }));
  add(own_rows<P>({
      {.name = "max_prefill_tokens",
       .field = &P::max_prefill_tokens,
       .unit = "tokens",
       .bounds = kCount,
       .doc = "most prompt tokens in a prefill batch"},
      {.name = "disable_radix_cache",
       .field = &P::disable_radix_cache,
       .doc = "switch the prefix cache off; all recurrent states then serve running requests"},
  }));
  return rows;
}

SglangBudgetOptions sglang_budget_options(const EngineSection& e, const EngineSystem& s) {
  const auto& own = e.own.get<SglangOptions>();
  const auto& scheduling = e.own.get<SglangScheduling>();
  SglangBudgetOptions options;
  options.release = sglang_release(s.version, e.version);
  if (!s.is_by_rule(kFraction)) options.mem_fraction_static = own.mem_fraction_static;
  options.chunked_prefill_size = own.chunked_prefill_size;
  options.cuda_graph_max_bs = own.cuda_graph_max_bs;
  options.context_length = own.context_length;
  options.max_total_tokens = e.max_total_tokens;
  const bool drafts = e.speculative.is_on();
  if (!s.is_by_rule(kRunning) || drafts) options.max_running_requests = own.max_running_requests;
  options.page_size = static_cast<std::int32_t>(own.page_size);
  options.max_prefill_tokens = scheduling.max_prefill_tokens;
  options.disable_cuda_graph = own.disable_cuda_graph;
  options.swa_full_tokens_ratio = own.swa_full_tokens_ratio;
  options.piecewise_cuda_graph = own.piecewise_cuda_graph;
  options.mamba_full_memory_ratio = own.mamba_full_memory_ratio;
  options.max_mamba_cache_size = own.max_mamba_cache_size;
  options.disable_radix_cache = scheduling.disable_radix_cache;
  if (!drafts) return options;
  options.speculative_algorithm = sglang_speculation(e.speculative.method);
  options.draft_tokens = own.speculative_num_draft_tokens.value_or(0);
  options.tree_tokens =
      e.speculative.num_speculative_tokens.value_or(0) * own.speculative_eagle_topk.value_or(1);
  return options;
}

// From 0.5.6 to 0.5.13 SGLang plans no step ahead where the radix cache holds states of Mamba or of
// a delta rule (server_args.py, _handle_mamba_radix_cache: mamba_scheduler_strategy no_buffer);
// before, it had no such cache, and from 0.5.14 on it keeps a second state for it.
void settle_overlap(EngineResolver& r, SglangRelease release) {
  constexpr SglangRelease kStatesInTree{0, 5, 6};
  constexpr SglangRelease kSecondState{0, 5, 14};
  const std::string place = "/engine/disable_overlap_schedule";
  const bool keeps_states = std::ranges::any_of(r.system.model.kinds, [](const LayerKind& kind) {
    if (!kind.recurrent) return false;
    const RecurrentSpec::Family family = kind.recurrent->family;
    return family == RecurrentSpec::Family::mamba2 ||
           family == RecurrentSpec::Family::gated_delta_net;
  });
  const std::string& strategy = r.own<SglangOptions>().mamba_scheduler_strategy;
  const bool by_version = release >= kStatesInTree && release < kSecondState;
  const bool plain = strategy == "no_buffer" || (strategy == "auto" && by_version);
  if (!keeps_states || !plain) return;
  if (r.own<SglangScheduling>().disable_radix_cache || r.given.is_given(place)) return;
  r.own<SglangOptions>().disable_overlap_schedule = true;
  r.note_rule(place, "on with the radix cache of recurrent layers");
  r.warn(
      "SGLang plans no step ahead with the radix cache of recurrent layers (0.5.6 to 0.5.13, or "
      "no_buffer); with mamba_scheduler_strategy extra_buffer it does");
}

// SGLang's own tests serve encoders so (test_encoder_embedding_models.py); it does not insist.
void warn_of_encoder(EngineResolver& r) {
  const bool whole = *r.own<SglangOptions>().chunked_prefill_size <= 0 &&
                     r.own<SglangScheduling>().disable_radix_cache;
  if (!is_encoder(r.system.model) || whole) return;
  r.warn(
      "SGLang splits an encoder's prompts into chunks and takes beginnings from its cache, which "
      "changes the vectors: set chunked_prefill_size to -1 and disable_radix_cache");
}

void resolve_sglang(EngineResolver& r) {
  EngineSystem& s = r.system;
  auto& own = r.own<SglangOptions>();
  const SglangRelease release = sglang_release(s.version, r.options.version);
  const SglangDefaults defaults = sglang_defaults(s.device, release, s.sharding);
  const std::string by_device = fmt::format("default on {}", s.device.id);
  r.fill_length("/engine/context_length", own.context_length, false);
  const bool drafts = r.options.speculative.is_on();
  if (drafts) resolve_sglang_speculation(r, release);
  r.fill("/engine/chunked_prefill_size", own.chunked_prefill_size, defaults.chunked_prefill_size,
         by_device);
  std::int64_t graph_bs = defaults.cuda_graph_max_bs;
  if (release >= kGraphsByRequests && own.max_running_requests) {
    graph_bs = std::min(graph_bs, *own.max_running_requests);
  }
  r.fill("/engine/cuda_graph_max_bs", own.cuda_graph_max_bs, graph_bs, by_device);
  if (!own.mem_fraction_static) {
    r.fill(kFraction, own.mem_fraction_static,
           sglang_fraction(sglang_budget_options(r.options, s), defaults, s.device, s.model,
                           s.sharding),
           "by device, chunk size and graph sizes");
  }
  if (*own.chunked_prefill_size > 0 && *own.chunked_prefill_size % own.page_size != 0) {
    r.given.refuse_value("/engine/chunked_prefill_size", fmt::to_string(*own.chunked_prefill_size),
                         fmt::format("expected a multiple of page_size = {}", own.page_size));
  }
  warn_of_encoder(r);
  auto& scheduling = r.own<SglangScheduling>();
  if (s.version < kSglangRetractsLess) scheduling.retraction_headroom = kRetractDecodeSteps;
  scheduling.rules = sglang_rules(release);
  r.own<RadixOptions>() = sglang_radix(release);
  if (s.sharding.data > 1) scheduling.conservativeness_factor = kConservativenessOfRanks;
  const std::string& order = scheduling.schedule_policy;
  if (scheduling.disable_radix_cache && (order == "lpm" || order == "dfs-weight")) {
    r.warn(fmt::format("schedule_policy {} needs the radix cache; without it SGLang serves fcfs",
                       order));
    scheduling.schedule_policy = "fcfs";
    r.note_rule("/engine/schedule_policy", "fcfs without the radix cache");
  }
  if (!drafts) settle_overlap(r, release);
  s.async_scheduling = !drafts && !own.disable_overlap_schedule && s.scheduler->traits.plans_ahead;
  const bool chunks = *own.chunked_prefill_size > 0;
  scheduling.chunked_prefill_size = *own.chunked_prefill_size;
  // Requests by pool and context length, once the pool is known.
  r.set_sizes(*own.context_length, own.max_running_requests.value_or(0),
              chunks ? *own.chunked_prefill_size : scheduling.max_prefill_tokens, own.page_size);
}

void after_budget(const BudgetInputs& inputs, const MemoryBudget& budget, EngineSection& e,
                  EngineSystem& s) {
  const std::int64_t running =
      sglang_max_running_requests(inputs, sglang_budget_options(e, s), budget);
  s.max_num_seqs = static_cast<std::int32_t>(running);
  auto& own = e.own.edit<SglangOptions>();
  if (own.max_running_requests) return;
  own.max_running_requests = running;
  s.rules[kRunning] = "sglang: by pool size and context length";
}

bool sglang_cuts_windows(const EngineSection&, const EngineSystem& s, const KvLayout& layout) {
  return layout.bytes_per_token <
         flat_kv_layout(s.model, {s.kv, false}, s.sharding, 0, 1).bytes_per_token;
}

// Batches that are captured (python/sglang/srt/server_args.py, _generate_cuda_graph_batch_sizes).
std::vector<std::int32_t> sglang_graph_sizes(std::int32_t largest, bool drafts) {
  std::vector<std::int32_t> sizes;
  const auto add = [&](std::int32_t first, std::int32_t end, std::int32_t step) {
    for (std::int32_t size = first; size < std::min(end, largest + 1); size += step) {
      sizes.push_back(size);
    }
  };
  if (drafts) {
    add(1, 9, 1);
    add(10, 33, 2);
    add(40, 65, 4);
    add(72, 257, 8);
    add(272, INT32_MAX, 16);
  } else {
    add(1, 3, 1);
    add(4, 16, 4);
    add(16, 257, 8);
    add(272, 512, 16);
    add(512, INT32_MAX, 32);
  }
  if (largest > 0 && sizes.back() < largest) sizes.push_back(largest);
  return sizes;
}

// In tokens. Steps with prompts run in graphs, too, where piecewise ones are captured
// (_generate_prefill_cuda_graph_batch_sizes).
CapturedSteps sglang_captured_steps(const EngineSection& e, const EngineSystem& s) {
  const auto& own = e.own.get<SglangOptions>();
  if (own.disable_cuda_graph) return {};
  const bool drafts = e.speculative.is_on();
  std::int64_t largest = own.cuda_graph_max_bs.value_or(0);
  if (drafts) largest = std::min(largest, own.max_running_requests.value_or(largest));
  CapturedSteps steps;
  steps.decode_sizes = sglang_graph_sizes(static_cast<std::int32_t>(largest), drafts);
  if (drafts) {
    for (std::int32_t& size : steps.decode_sizes) size *= s.rounds.verified_tokens;
  }
  const SglangRelease release = sglang_release(s.version, e.version);
  if (own.piecewise_cuda_graph.value_or(
          sglang_piecewise_by_default(s.device, s.model, release, s.sharding))) {
    const std::int64_t chunk = own.chunked_prefill_size.value_or(0);
    steps.largest_mixed =
        std::min(chunk > 0 ? chunk : e.own.get<SglangScheduling>().max_prefill_tokens,
                 std::int64_t{s.max_model_len});
  }
  return steps;
}

std::span<const FixCandidate> sglang_fixes() {
  using namespace fixes;
  static constexpr FixCandidate kFixes[] = {
      {"/engine/mem_fraction_static", Try::share_up, Cost::none,
       "leaves less memory for activations and graphs"},
      {"/engine/mem_fraction_static", Try::share_down, Cost::none,
       "leaves more memory for activations and graphs"},
      {"/engine/context_length", Try::count_down, Cost::limits, kLonger, {}, Of::tokens},
      {"/engine/context_length", Try::count_up, Cost::none, kLength, {}, Of::tokens},
      {"/engine/max_running_requests", Try::count_up, Cost::none, kMore, {}, Of::requests},
      {"/engine/chunked_prefill_size", Try::count_down, Cost::speed, kSteps, {}, Of::other, 128},
      {"/engine/cuda_graph_max_bs", Try::count_down, Cost::speed,
       "no CUDA graphs for batches above {}"},
      kKvIn8Bit,
      kWeightsIn8Or4Bit,
      kMoreDevices};
  return kFixes;
}

}  // namespace

const Engine& sglang_engine() {
  static const Engine kEngine{
      .name = "sglang",
      .version = "0.5.23",
      .versioned = true,
      .newest = kNewestSglang,
      .summary = "SGLang: separate prefill batches, radix cache, retraction",
      .measured = "memory, traffic",
      .budget_rule = "sglang",
      .scheduler = "sglang",
      .cost_family = "sglang",
      .kernels = KernelEngine::sglang,
      .traits = {.budgets_drafter = true,
                 .counts_windows_at_start = true,
                 .prefills_in_fp8 = true,
                 .halves_fp32 = true,
                 .cuts_whole_blocks = true},
      .counts_page_cache_free_since = kSglangReadsAvailable,
      // model_runner.py, configure_kv_cache_dtype: kv_cache_quant_algo alone.
      .reads_cache_format = [](EngineVersion,
                               std::string_view method) { return method == "modelopt"; },
      .takes = {"version", "kv_cache_dtype", "max_total_tokens", "memory_growth_mib_per_hour"},
      .options = sglang_rows,
      .launch = &kSglangLaunch,
      .metric_prefixes = "sglang:",
      .load_metrics = &kSglangLoadMetrics,
      .resolve = resolve_sglang,
      .budget =
          [](const BudgetInputs& inputs, const EngineSection& e, const EngineSystem& s) {
            return sglang_budget(inputs, sglang_budget_options(e, s));
          },
      .budget_warnings =
          [](const BudgetInputs& inputs, const EngineSection& e, const EngineSystem& s) {
            return sglang_budget_warnings(inputs, sglang_budget_options(e, s));
          },
      .after_budget = after_budget,
      .cuts_windows = sglang_cuts_windows,
      // max_new_tokens is clipped (ENGINES.md 3.4).
      .limit = [](const EngineSection&, AdmissionLimits& limits) { limits.cuts_max_tokens = true; },
      .captured_steps = sglang_captured_steps,
      .graph_switch = [](const EngineSection& e, const EngineSystem& s) -> std::string_view {
        if (e.own.get<SglangOptions>().disable_cuda_graph) return "disable_cuda_graph";
        return s.is_by_rule("/engine/cuda_graph_max_bs") ? "" : "cuda_graph_max_bs";
      },
      .fixes = sglang_fixes};
  return kEngine;
}

}  // namespace headroom
