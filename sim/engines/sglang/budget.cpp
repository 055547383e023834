#include "sim/engines/sglang/budget.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "hardware/budget/activations.hpp"
#include "hardware/llm/drafter_model.hpp"
#include "hardware/llm/kv_geometry.hpp"
#include "hardware/llm/parameters.hpp"
#include "sim/engines/sglang/compressed_pool.hpp"
#include "sim/engines/sglang/loaded_weights.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/lower_case.hpp"

namespace headroom {
namespace {

void check_options(const SglangBudgetOptions& o) {
  if (o.mem_fraction_static && !(*o.mem_fraction_static > 0 && *o.mem_fraction_static < 1)) {
    throw ConfigError(
        fmt::format("mem_fraction_static {}: between 0 and 1", *o.mem_fraction_static));
  }
  if (o.page_size < 1 || o.max_prefill_tokens < 1) {
    throw ConfigError("page_size and max_prefill_tokens: at least 1");
  }
  if (o.chunked_prefill_size && *o.chunked_prefill_size != -1 && *o.chunked_prefill_size < 1) {
    throw ConfigError(fmt::format("chunked_prefill_size {}: at least 1, or -1 for no chunks",
                                  *o.chunked_prefill_size));
  }
  if ((o.max_total_tokens && *o.max_total_tokens < 1) ||
      (o.max_running_requests && *o.max_running_requests < 1) ||
      (o.context_length && *o.context_length < 2)) {
    throw ConfigError(
        "max_total_tokens and max_running_requests: at least 1, context_length: at least 2");
  }
  if (!(o.mamba_full_memory_ratio > 0) || !(o.swa_full_tokens_ratio > 0) ||
      o.swa_full_tokens_ratio > 1) {
    throw ConfigError("mamba_full_memory_ratio: above 0; swa_full_tokens_ratio: above 0, up to 1");
  }
}

std::int64_t context_length(const BudgetInputs& inputs, const SglangBudgetOptions& options) {
  const std::int64_t length = options.context_length.value_or(inputs.model.max_position);
  if (length < 2) {
    throw ConfigError(fmt::format("context_length: {} declares none, so set one", inputs.model.id));
  }
  return length;
}

std::int64_t prefill_tokens(const SglangBudgetOptions& options, const SglangDefaults& defaults) {
  const std::int64_t chunk = options.chunked_prefill_size.value_or(defaults.chunked_prefill_size);
  return chunk > 0 ? chunk : options.max_prefill_tokens;
}

bool splits_windows(const ModelSpec& model, const SglangBudgetOptions& options) {
  if (options.hybrid_swa_memory) return *options.hybrid_swa_memory;
  const std::string name = lower_case(model.architecture + " " + model.id);
  constexpr std::array<std::string_view, 10> kSplit{"llama4", "llama-4", "gptoss",  "gpt-oss",
                                                    "mimo",   "gemma4",  "gemma-4", "step3p5",
                                                    "step-3", "laguna"};
  return std::ranges::any_of(
      kSplit, [&](std::string_view part) { return name.find(part) != std::string::npos; });
}

std::optional<CompressedPool> compressed_pool(const BudgetInputs& inputs,
                                              const SglangBudgetOptions& options,
                                              std::int64_t stage) {
  return sglang_compressed_pool(inputs.model, inputs.sharding, stage, options.release,
                                options.swa_full_tokens_ratio);
}

// Of recurrent layers; what compressors keep is no such state here.
ByteCount recurrent_bytes(const BudgetInputs& inputs, const SglangBudgetOptions& options,
                          std::int64_t stage) {
  return compressed_pool(inputs, options, stage)
             ? 0
             : state_bytes_per_sequence(inputs.model, inputs.sharding, stage);
}

// The drafter is loaded before the pools are sized, its layers are priced like the target's, and
// its pool lies in the same share of memory (scheduler.py, pool_configurator.py). Before, it took
// its memory from what that share leaves.
constexpr SglangRelease kDrafterInShare{0, 5, 14};
// Until then the pool was longer by what rounds of drafts hold (model_runner.py).
constexpr SglangRelease kNoDraftSurplus{0, 5, 7};

bool drafter_is_in_share(const BudgetInputs& inputs, const SglangBudgetOptions& options) {
  return inputs.drafter && options.release >= kDrafterInShare;
}

KvLayout drafter_layout(const BudgetInputs& inputs, const SglangBudgetOptions& options) {
  return flat_kv_layout(without_states(*inputs.drafter), {inputs.kv, false},
                        drafter_sharding(inputs.sharding), 0, options.page_size);
}

ByteCount drafter_weight_bytes(const BudgetInputs& inputs) {
  return rank_weight_bytes(*inputs.drafter, drafter_sharding(inputs.sharding));
}

// A token of the pools of target and drafter.
KvLayout with_drafter_layers_priced(const KvLayout& target, const BudgetInputs& inputs,
                                    const SglangBudgetOptions& options) {
  const std::int32_t own = target.groups.front().layers;
  const std::int32_t more = drafter_layout(inputs, options).groups.front().layers;
  const double share = static_cast<double>(more) / static_cast<double>(own);
  return uniform_layout(
      own + more, static_cast<ByteCount>(static_cast<double>(target.bytes_per_token) * (1 + share)),
      options.page_size);
}

KvLayout target_layout(const BudgetInputs& inputs, const SglangBudgetOptions& options,
                       std::int64_t stage) {
  const ModelSpec model = without_states(inputs.model);
  const KvFormat format{inputs.kv, false};
  if (const auto pool = compressed_pool(inputs, options, stage)) {
    return uniform_layout(static_cast<std::int32_t>(model.layers()),
                          static_cast<ByteCount>(pool->bytes_per_token + 0.5), options.page_size);
  }
  KvLayout flat = flat_kv_layout(model, format, inputs.sharding, stage, options.page_size);
  if (!splits_windows(model, options)) return flat;
  double full = 0;
  double windows = 0;
  for (const KvClass& c : kv_classes(model, format, inputs.sharding, stage)) {
    (c.window_tokens > 0 ? windows : full) += static_cast<double>(c.layers * c.bytes_per_token);
  }
  if (full == 0 || windows == 0) return flat;
  // A token of the full pool carries its share of the window pool.
  return uniform_layout(flat.groups.front().layers,
                        static_cast<ByteCount>(full + options.swa_full_tokens_ratio * windows),
                        options.page_size);
}

// Pull request 18039: the pools of windows are sized by the bytes of each (0.5.9:
// model_runner_kv_cache_mixin.py, set_num_tokens_hybrid_swa).
constexpr SglangRelease kSizesWindowsByBytes{0, 5, 9};

// What a page of the full pool counts when the pool is sized. Before that every layer was priced
// like one without a window, layers with a window of other heads again on top
// (get_cell_size_per_token of 0.5.7 and 0.5.8; only MiMo has such), and layers shared the tokens
// out by their number alone, so part of the memory stayed unused.
ByteCount sized_block_bytes(const BudgetInputs& inputs, const SglangBudgetOptions& options,
                            std::int64_t stage, const KvLayout& layout) {
  if (options.release >= kSizesWindowsByBytes || !splits_windows(inputs.model, options)) {
    return layout.block_bytes;
  }
  const KvFormat format{inputs.kv, false};
  double full_layers = 0;
  double full = 0;
  double window_layers = 0;
  double windows = 0;
  for (const KvClass& c :
       kv_classes(without_states(inputs.model), format, inputs.sharding, stage)) {
    const auto layers = static_cast<double>(c.layers);
    (c.window_tokens > 0 ? window_layers : full_layers) += layers;
    (c.window_tokens > 0 ? windows : full) += layers * static_cast<double>(c.bytes_per_token);
  }
  if (full == 0 || windows == 0) return layout.block_bytes;
  const double layers = full_layers + window_layers;
  const double like_full = full / full_layers;
  const bool other_heads = windows != like_full * window_layers;
  const double cell = like_full * layers + (other_heads ? windows : 0);
  const double share = (options.swa_full_tokens_ratio * window_layers + full_layers) / layers;
  return static_cast<ByteCount>(cell * share) * options.page_size;
}

KvLayout layout_of(const BudgetInputs& inputs, const SglangBudgetOptions& options,
                   std::int64_t stage) {
  KvLayout target = target_layout(inputs, options, stage);
  if (!drafter_is_in_share(inputs, options)) return target;
  return with_drafter_layers_priced(target, inputs, options);
}

// Communicators exist before the first look (model_runner.py: init_torch_distributed; each group
// has a PyNcclCommunicator, whose first reduction runs at once). NCCL also has buffers for
// reductions in NVLink's switch on Hopper (NVLS): free memory of an H100 is 1.02 GiB less with two
// ranks and 1.04 with four (32 start-ups of vLLM, whose communicator is the same), 0.33 elsewhere.
ByteCount ranks_bytes(const BudgetInputs& inputs) {
  const bool in_switch = inputs.device.sm == 90 && inputs.device.nvlink_bytes_per_s.has_value();
  if (inputs.sharding.tensor == 1 || !in_switch) return communication_bytes(inputs.sharding);
  return bytes_from_gib(inputs.sharding.tensor == 2 ? 1.02 : 1.04);
}

// How the memory of one rank is divided.
struct Split {
  ByteCount before = 0;  // available before the weights are loaded
  ByteCount rest = 0;    // for states and KV
  ByteCount states = 0;
  double fraction = 0;
};

std::int64_t state_slots(const SglangBudgetOptions& options, ByteCount rest, ByteCount each) {
  if (options.max_mamba_cache_size) return *options.max_mamba_cache_size;
  if (options.disable_radix_cache && options.max_running_requests) {
    return *options.max_running_requests;
  }
  const double ratio = options.mamba_full_memory_ratio;
  const double bytes = static_cast<double>(std::max<ByteCount>(rest, 0)) * ratio / (1 + ratio);
  return static_cast<ByteCount>(bytes) / each;
}

Split split_of(const BudgetInputs& inputs, const SglangBudgetOptions& options,
               const SglangDefaults& defaults, const BudgetBuilder& loaded, std::int64_t stage) {
  Split split;
  // The first look comes after init_torch_distributed, when the process has its host memory
  // (model_runner.py: init_torch_distributed returns it).
  split.before = capacity_of(inputs) - inputs.machine.others_bytes -
                 inputs.machine.engine_host_bytes - inputs.machine.cache_before_bytes -
                 kContextBytes - ranks_bytes(inputs);
  split.fraction = options.mem_fraction_static.value_or(
      sglang_fraction(options, defaults, inputs.device, inputs.model, inputs.sharding));
  split.rest = loaded.free_bytes() -
               static_cast<ByteCount>(static_cast<double>(split.before) * (1 - split.fraction));
  const ByteCount state = recurrent_bytes(inputs, options, stage);
  if (state > 0) {
    // Each token that a round verifies has a state of its own (handle_max_mamba_cache).
    const ByteCount of_rounds =
        state * options.draft_tokens * options.max_running_requests.value_or(0);
    split.states = of_rounds + state * state_slots(options, split.rest - of_rounds, state);
  }
  if (const auto pool = compressed_pool(inputs, options, stage)) {
    constexpr std::int64_t kFewestRequests = 2048;  // where the user names no number
    split.states =
        pool->bytes_per_request * (options.max_running_requests.value_or(kFewestRequests) + 1);
  }
  return split;
}

// Rounded down to pages, and to what the user allows.
TokenCount pool_tokens(const BudgetInputs& inputs, const SglangBudgetOptions& options,
                       const Split& split, std::int64_t stage, MemoryBudget& budget) {
  const ByteCount kv = std::max<ByteCount>(0, split.rest - split.states);
  budget.kv_available_bytes = kv;
  TokenCount tokens =
      kv / sized_block_bytes(inputs, options, stage, budget.layout) * options.page_size;
  const bool from_drafter = options.speculative_algorithm != SglangSpeculation::ngram;
  if (options.draft_tokens > 0 && options.release < kNoDraftSurplus && from_drafter && tokens > 0) {
    const std::int64_t requests = options.max_running_requests.value_or(0);
    tokens += requests * (options.tree_tokens + options.draft_tokens) + 100;
    tokens = tokens / options.page_size * options.page_size;
  }
  if (options.max_total_tokens) {
    if (*options.max_total_tokens > tokens) {
      budget.notes.push_back(
          fmt::format("max_total_tokens={} is larger than the profiled value {}; the profiled "
                      "value is used",
                      *options.max_total_tokens, tokens));
    }
    tokens = std::min(tokens, *options.max_total_tokens) / options.page_size * options.page_size;
  }
  return tokens;
}

void place(BudgetBuilder& builder, const BudgetInputs& inputs, const SglangBudgetOptions& options,
           const Split& split, std::int64_t stage, MemoryBudget& budget) {
  const TokenCount tokens = pool_tokens(inputs, options, split, stage, budget);
  if (tokens < 2) {
    builder.fail({StartupStage::blocks,
                  fmt::format("Not enough memory. Please try to increase --mem-fraction-static. "
                              "Current value: mem_fraction_static={}",
                              split.fraction),
                  2 * budget.layout.bytes_per_token + split.states,
                  std::max<ByteCount>(0, split.rest), 0});
    return;
  }
  const BlockCount blocks = tokens / options.page_size;
  if (!pool_is_allocatable(builder, inputs.machine,
                           split.states + blocks * budget.layout.block_bytes,
                           "CUDA out of memory while allocating the KV cache")) {
    return;
  }
  builder.charge(MemoryPurpose::kv_pool, split.states, StartupStage::kv_allocation);
  const std::int64_t asked = context_length(inputs, options);
  const std::int64_t longest = std::min(asked, tokens - 1);
  place_pool(builder,
             {.available_bytes = blocks * budget.layout.block_bytes, .max_model_len = longest},
             budget);
  budget.kv_available_bytes = split.rest - split.states;
  if (longest < asked) {
    budget.notes.push_back(fmt::format(
        "requests are limited to {} tokens, because the pool holds fewer than context_length {}",
        longest, asked));
  }
}

// The table of token positions of every request that may run, 4 bytes each.
ByteCount request_table_bytes(const BudgetInputs& inputs, const SglangBudgetOptions& options,
                              const MemoryBudget& budget) {
  return sglang_max_running_requests(inputs, options, budget) *
         (context_length(inputs, options) + 4 + options.draft_tokens) * 4;
}

void charge_rest(BudgetBuilder& builder, const BudgetInputs& inputs,
                 const SglangBudgetOptions& options, const SglangDefaults& defaults,
                 std::int64_t stage, MemoryBudget& budget) {
  if (builder.failed()) return;
  const std::int64_t graph_bs = options.cuda_graph_max_bs.value_or(defaults.cuda_graph_max_bs);
  // 2 MiB per sequence is what the engine itself sets aside for graphs.
  const ByteCount graphs = options.disable_cuda_graph ? 0 : 2 * kMib * graph_bs;
  if (graphs > builder.free_bytes()) {
    builder.fail({StartupStage::graph_capture,
                  fmt::format("Capture CUDA graph failed: CUDA out of memory: {:.2f} GiB wanted, "
                              "{:.2f} GiB free; set --mem-fraction-static to a smaller value or "
                              "--cuda-graph-max-bs to a smaller value",
                              gib_from_bytes(graphs), gib_from_bytes(builder.free_bytes())),
                  graphs, builder.free_bytes(), 0});
    return;
  }
  builder.charge(MemoryPurpose::graphs, graphs, StartupStage::graph_capture);
  const std::int64_t tokens = prefill_tokens(options, defaults);
  const ForwardPass pass{tokens, 1, inputs.model.vision ? 1 : 0};
  const ByteCount activations = activation_peak(inputs.model, inputs.sharding, stage, pass).peak();
  if (activations > builder.free_bytes()) {
    budget.notes.push_back(
        fmt::format("a prefill of {} tokens needs about {:.2f} GiB, but only {:.2f} GiB are left: "
                    "the engine starts and runs out of memory later",
                    tokens, gib_from_bytes(activations), gib_from_bytes(builder.free_bytes())));
  }
  builder.charge(MemoryPurpose::activations, std::min(activations, builder.free_bytes()),
                 StartupStage::warm_up);
}

// Taken outside the weights while they are loaded (library handles, rounding of the allocator): the
// drop of available memory less checkpoint and rotary tables was 0.36 GiB on a GB10, whose host
// memory it includes, 0.47 on eight ranks, and 0.03 to 0.15, most often 0.07, on one GB300 and on
// two RTX 3090.
ByteCount loading_bytes(const BudgetInputs& inputs) {
  const bool shared = inputs.device.memory_model == MemoryModel::unified;
  const std::int64_t ranks = inputs.sharding.tensor * inputs.sharding.data;
  return shared || ranks >= 4 ? 390 * kMib : 70 * kMib;
}

MemoryBudget stage_budget(const BudgetInputs& inputs, const SglangBudgetOptions& options,
                          std::int64_t stage) {
  const SglangDefaults defaults = sglang_defaults(inputs.device, options.release, inputs.sharding);
  MemoryBudget budget;
  budget.layout = layout_of(inputs, options, stage);
  check_keeps_kv(budget.layout, inputs.model, "SGLang");
  BudgetBuilder builder(capacity_of(inputs));
  charge_machine(builder, inputs.machine);
  builder.charge(MemoryPurpose::context, kContextBytes, StartupStage::weights);
  builder.charge(MemoryPurpose::communication, ranks_bytes(inputs), StartupStage::weights);
  builder.charge(MemoryPurpose::weights, sglang_loaded_weight_bytes(inputs, stage, options.release),
                 StartupStage::weights);
  builder.charge(MemoryPurpose::context, loading_bytes(inputs), StartupStage::weights);
  if (drafter_is_in_share(inputs, options)) {
    builder.charge(MemoryPurpose::drafter, drafter_weight_bytes(inputs), StartupStage::weights);
  }
  if (!builder.failed()) {
    const Split split = split_of(inputs, options, defaults, builder, stage);
    place(builder, inputs, options, split, stage, budget);
  }
  if (inputs.drafter && !drafter_is_in_share(inputs, options)) {
    builder.charge(MemoryPurpose::drafter, drafter_weight_bytes(inputs), StartupStage::weights);
    builder.charge(MemoryPurpose::drafter,
                   budget.kv_tokens * drafter_layout(inputs, options).bytes_per_token,
                   StartupStage::kv_allocation);
  }
  if (!builder.failed()) {
    builder.charge(MemoryPurpose::context, request_table_bytes(inputs, options, budget),
                   StartupStage::kv_allocation);
  }
  charge_rest(builder, inputs, options, defaults, stage, budget);
  builder.finish(budget);
  return budget;
}

}  // namespace

SglangReserve sglang_reserve(const SglangBudgetOptions& options, const SglangDefaults& defaults,
                             const DeviceSpec& device, const ModelSpec& model,
                             const Sharding& sharding) {
  SglangReserve reserve;
  reserve.release = options.release;
  const std::int64_t chunk = options.chunked_prefill_size.value_or(defaults.chunked_prefill_size);
  // The fraction is chosen before data ranks share the chunk out.
  reserve.prefill_tokens = chunk > 0 ? chunk * sharding.data : options.max_prefill_tokens;
  reserve.graph_bs = options.cuda_graph_max_bs.value_or(defaults.cuda_graph_max_bs);
  reserve.captures = !options.disable_cuda_graph;
  reserve.piecewise = options.piecewise_cuda_graph.value_or(
      sglang_piecewise_by_default(device, model, options.release, sharding));
  reserve.latent_attention = has_latent_attention(model);
  // Data ranks share the experts: attention by requests.
  reserve.dp_attention = sharding.data > 1;
  reserve.dp_size = sharding.data;
  reserve.speculation = options.speculative_algorithm;
  return reserve;
}

double sglang_fraction(const SglangBudgetOptions& options, const SglangDefaults& defaults,
                       const DeviceSpec& device, const ModelSpec& model, const Sharding& sharding) {
  const double device_mib =
      static_cast<double>(device.memory_reported_bytes) / static_cast<double>(kMib);
  const SglangReserve reserve = sglang_reserve(options, defaults, device, model, sharding);
  return sglang_default_fraction(reserve, sharding, device_mib) *
         sglang_vision_share(model, options.release);
}

MemoryBudget sglang_budget(const BudgetInputs& inputs, const SglangBudgetOptions& options) {
  check_options(options);
  return tightest_stage(inputs.sharding,
                        [&](std::int64_t stage) { return stage_budget(inputs, options, stage); });
}

std::int64_t sglang_max_running_requests(const BudgetInputs& inputs,
                                         const SglangBudgetOptions& options,
                                         const MemoryBudget& budget) {
  const double share = static_cast<double>(budget.kv_tokens) /
                       static_cast<double>(context_length(inputs, options)) * 512;
  std::int64_t requests = options.max_running_requests.value_or(
      std::clamp<std::int64_t>(static_cast<std::int64_t>(share), 2048, 4096));
  ByteCount state = 0;
  for (std::int64_t stage = 0; stage < inputs.sharding.pipeline; ++stage) {
    state = std::max(state, recurrent_bytes(inputs, options, stage));
  }
  if (state > 0 && !budget.failure) {
    const ByteCount kv = budget.terms[MemoryPurpose::kv_pool];
    const std::int64_t of_rounds = options.draft_tokens * options.max_running_requests.value_or(0);
    const std::int64_t slots = (kv - budget.kv_pool_bytes) / state - of_rounds;
    if (kv > 0) requests = std::min(requests, options.disable_radix_cache ? slots : slots / 3);
  }
  return requests;
}

std::vector<std::string> sglang_budget_warnings(const BudgetInputs& inputs,
                                                const SglangBudgetOptions& options) {
  std::vector<std::string> warnings;
  const SglangRelease newest{kNewestSglang.major, kNewestSglang.minor, 999};
  if (options.release > newest) {
    warnings.push_back(
        fmt::format("SGLang {} is newer than {}, the newest release whose memory rule is modelled",
                    to_string(options.release), to_string(kNewestSglang)));
  }
  warnings.emplace_back("SGLang: the CUDA context and what NCCL and loading take are estimates");
  if (splits_windows(inputs.model, options)) {
    warnings.emplace_back(
        "SGLang: the window pool is modelled as part of each token of the full pool, so requests "
        "shorter than the window fit up to 1 / swa_full_tokens_ratio times as often as in the "
        "engine");
  }
  return warnings;
}

}  // namespace headroom
