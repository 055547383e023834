#include "sim/engines/tgi/budget.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "hardware/budget/activations.hpp"
#include "hardware/llm/kv_geometry.hpp"
#include "hardware/llm/parameters.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

constexpr BlockCount kNullBlocks = 1;

constexpr std::array<std::pair<std::string_view, TgiAttention>, 3> kAttentions{{
    {"flashinfer", TgiAttention::flashinfer},
    {"flashdecoding", TgiAttention::flashdecoding},
    {"paged", TgiAttention::paged},
}};

void check_options(const TgiBudgetOptions& o) {
  if (!(o.cuda_memory_fraction > 0 && o.cuda_memory_fraction <= 1)) {
    throw ConfigError(
        fmt::format("cuda_memory_fraction {}: above 0 and up to 1", o.cuda_memory_fraction));
  }
  if (!(o.wiggle_room > 0 && o.wiggle_room < 1)) {
    throw ConfigError(fmt::format("TGI_WIGGLE_ROOM {}: between 0 and 1", o.wiggle_room));
  }
  for (const auto& tokens : {o.max_input_tokens, o.max_total_tokens, o.max_batch_prefill_tokens,
                             o.max_batch_total_tokens}) {
    if (tokens && *tokens < 1) {
      throw ConfigError(
          "max_input_tokens, max_total_tokens, max_batch_prefill_tokens and "
          "max_batch_total_tokens: at least 1");
    }
  }
  if (o.max_input_tokens && o.max_total_tokens && *o.max_input_tokens >= *o.max_total_tokens) {
    throw ConfigError(fmt::format("max_input_tokens {} must be < max_total_tokens {}",
                                  *o.max_input_tokens, *o.max_total_tokens));
  }
}

struct WarmUp {
  std::int64_t tokens = 0;  // prefilled
  BlockCount blocks = 0;    // of the temporary cache
};

WarmUp warm_up_of(const TgiBudgetOptions& options, const TgiDefaults& defaults,
                  std::int32_t block) {
  WarmUp warm_up;
  const std::int64_t prefill =
      options.max_input_tokens ? *options.max_input_tokens + 50 : defaults.max_batch_prefill_tokens;
  warm_up.tokens = options.max_batch_prefill_tokens.value_or(prefill);
  warm_up.blocks = blocks_needed(warm_up.tokens, block);
  return warm_up;
}

// The prefill of the warm-up, its cache included; false: it did not fit.
bool run_warm_up(BudgetBuilder& builder, const BudgetInputs& inputs, const WarmUp& warm_up,
                 ByteCount cache_bytes, std::int64_t stage) {
  if (builder.failed()) return false;
  const ForwardPass pass{warm_up.tokens, 1, inputs.model.vision ? 1 : 0};
  const ByteCount activations = activation_peak(inputs.model, inputs.sharding, stage, pass).peak();
  if (activations + cache_bytes > builder.free_bytes()) {
    builder.fail({StartupStage::profiling,
                  fmt::format("Not enough memory to handle {} prefill tokens. You need to decrease "
                              "`--max-batch-prefill-tokens` ({:.2f} GiB wanted, {:.2f} GiB free)",
                              warm_up.tokens, gib_from_bytes(activations + cache_bytes),
                              gib_from_bytes(builder.free_bytes())),
                  activations + cache_bytes, builder.free_bytes(), 0});
    return false;
  }
  return builder.charge(MemoryPurpose::activations, activations, StartupStage::profiling);
}

// Bytes above the share that is kept, beside the warm-up's own cache.
ByteCount room_for_blocks(const TgiBudgetOptions& options, ByteCount total, ByteCount free) {
  const auto whole = static_cast<double>(total);
  const auto left = static_cast<double>(free);
  const bool share_of_total = options.version >= EngineVersion{3, 0};
  const double fraction =
      options.cuda_memory_fraction * (share_of_total ? options.wiggle_room : 1.0);
  const double room = std::max(0.0, left - (1 - fraction) * whole);
  return static_cast<ByteCount>(share_of_total ? room : room * options.wiggle_room);
}

BlockCount block_count(const TgiBudgetOptions& options, const WarmUp& warm_up, ByteCount total,
                       ByteCount free, MemoryBudget& budget) {
  const ByteCount cache = warm_up.blocks * budget.layout.block_bytes;
  const ByteCount room = room_for_blocks(options, total, free - cache);
  const BlockCount blocks = room / budget.layout.block_bytes + warm_up.blocks;
  const TokenCount tokens = blocks * budget.layout.block_tokens;
  if (!options.max_batch_total_tokens || *options.max_batch_total_tokens >= tokens) {
    if (options.max_batch_total_tokens && *options.max_batch_total_tokens > tokens) {
      budget.notes.push_back(fmt::format("max_batch_total_tokens lowered from {} to {}",
                                         *options.max_batch_total_tokens, tokens));
    }
    return blocks;
  }
  return blocks_needed(*options.max_batch_total_tokens, budget.layout.block_tokens);
}

void place(BudgetBuilder& builder, const BudgetInputs& inputs, const TgiBudgetOptions& options,
           const WarmUp& warm_up, MemoryBudget& budget) {
  if (builder.failed()) return;
  const BlockCount blocks =
      block_count(options, warm_up, capacity_of(inputs), builder.free_bytes(), budget);
  const TokenCount supported = (blocks - kNullBlocks) * budget.layout.block_tokens;
  const std::int64_t asked = options.max_total_tokens.value_or(
      inputs.model.max_position > 0 ? std::min(inputs.model.max_position, supported) : supported);
  if (asked > supported || supported < 1) {
    builder.fail(
        {StartupStage::max_length_request,
         fmt::format("Not enough memory to handle `max_total_tokens={}`: the KV cache holds "
                     "{} tokens",
                     asked, std::max<TokenCount>(supported, 0)),
         asked * budget.layout.bytes_per_token, blocks * budget.layout.block_bytes,
         std::max<TokenCount>(supported, 0)});
    return;
  }
  if (!pool_is_allocatable(builder, inputs.machine, blocks * budget.layout.block_bytes,
                           "CUDA out of memory while allocating the KV cache")) {
    return;
  }
  place_pool(builder,
             {.available_bytes = blocks * budget.layout.block_bytes,
              .max_model_len = asked,
              .null_blocks = kNullBlocks},
             budget);
  if (!options.max_total_tokens) {
    budget.notes.push_back(fmt::format("max_total_tokens inferred: {}", asked));
  }
}

void capture_graphs(BudgetBuilder& builder, const TgiBudgetOptions& options, MemoryBudget& budget) {
  if (builder.failed()) return;
  const ByteCount graphs =
      decode_graph_bytes(static_cast<std::int64_t>(options.cuda_graphs.size()));
  if (graphs > builder.free_bytes()) {
    budget.notes.emplace_back("Decode cuda graph warmup failed: the engine runs without graphs");
    return;
  }
  builder.charge(MemoryPurpose::graphs, graphs, StartupStage::graph_capture);
}

}  // namespace

TgiAttention parse_tgi_attention(std::string_view name) {
  for (const auto& [known, attention] : kAttentions) {
    if (known == name) return attention;
  }
  throw ConfigError(fmt::format("attention '{}': one of flashinfer, flashdecoding, paged", name));
}

std::int32_t tgi_block_size(TgiAttention attention) {
  switch (attention) {
    case TgiAttention::flashinfer: return 1;
    case TgiAttention::flashdecoding: return 256;
    case TgiAttention::paged: return 16;
  }
  return 16;
}

TgiDefaults tgi_defaults(const DeviceSpec& device, const ModelSpec& model, EngineVersion version) {
  TgiDefaults defaults;
  const bool flashinfer = version >= EngineVersion{3, 0} && device.sm >= 80;
  defaults.attention = flashinfer ? TgiAttention::flashinfer : TgiAttention::paged;
  const std::int64_t longest =
      model.max_position > 1 ? std::min<std::int64_t>(model.max_position, 4096) : 4096;
  defaults.max_input_tokens = longest - 1;
  defaults.max_batch_prefill_tokens = defaults.max_input_tokens + 50;
  return defaults;
}

MemoryBudget tgi_budget(const BudgetInputs& inputs, const TgiBudgetOptions& options) {
  check_options(options);
  if (inputs.sharding.pipeline > 1) {
    throw ConfigError("text-generation-inference has no pipeline parallelism",
                      ErrorKind::unsupported);
  }
  const TgiDefaults defaults = tgi_defaults(inputs.device, inputs.model, options.version);
  const std::int32_t block = tgi_block_size(options.attention.value_or(defaults.attention));
  const WarmUp warm_up = warm_up_of(options, defaults, block);
  MemoryBudget budget;
  budget.layout =
      flat_kv_layout(without_states(inputs.model), {inputs.kv, false}, inputs.sharding, 0, block);
  check_keeps_kv(budget.layout, inputs.model, "TGI");
  BudgetBuilder builder(capacity_of(inputs));
  charge_machine(builder, inputs.machine);
  builder.charge(MemoryPurpose::context, kContextBytes, StartupStage::weights);
  builder.charge(MemoryPurpose::communication, communication_bytes(inputs.sharding),
                 StartupStage::weights);
  builder.charge(MemoryPurpose::weights, rank_parts(inputs.model, inputs.sharding, 0).bytes_total(),
                 StartupStage::weights);
  if (run_warm_up(builder, inputs, warm_up, warm_up.blocks * budget.layout.block_bytes, 0)) {
    place(builder, inputs, options, warm_up, budget);
  }
  capture_graphs(builder, options, budget);
  builder.finish(budget);
  return budget;
}

std::vector<std::string> tgi_budget_warnings(const BudgetInputs& inputs,
                                             const TgiBudgetOptions& options) {
  std::vector<std::string> warnings;
  if (options.version > kNewestTgi) {
    warnings.push_back(
        fmt::format("TGI {} is newer than {}, the newest release whose memory rule is modelled",
                    to_string(options.version), to_string(kNewestTgi)));
  }
  warnings.emplace_back(
      "TGI: the memory rule follows its source code and was not compared with measured start-ups; "
      "the peak of the warm-up (activations, context) is an estimate");
  if (options.version >= EngineVersion{3, 0} && !options.max_batch_prefill_tokens &&
      !options.max_input_tokens) {
    warnings.emplace_back(
        "TGI 3 derives max_batch_prefill_tokens from the device; 4145 (4095 + 50) is assumed");
  }
  if (has_states(inputs.model)) {
    warnings.push_back(fmt::format("TGI: recurrent states of {} are left out", inputs.model.id));
  }
  return warnings;
}

}  // namespace headroom
