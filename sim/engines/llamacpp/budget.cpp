#include "sim/engines/llamacpp/budget.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "hardware/budget/activations.hpp"
#include "sim/engines/llamacpp/compute_buffers.hpp"
#include "sim/engines/llamacpp/fit.hpp"
#include "sim/engines/llamacpp/split.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

constexpr EngineVersion kFourSlots{0, 7079};
// Slots got caches of their own with pull request 14363 of July 2025.
constexpr EngineVersion kStreams{0, 5898};
constexpr std::int64_t kPadding = 256;

std::int64_t padded(std::int64_t cells) { return (cells + kPadding - 1) / kPadding * kPadding; }

void check_options(const BudgetInputs& inputs, const LlamacppBudgetOptions& o) {
  if (inputs.sharding.tensor > 1) {
    throw ConfigError(
        "llama.cpp: split mode row (tensor_parallel_size above 1) is not modelled; to split layers "
        "over devices, set pipeline_parallel_size");
  }
  if ((o.ctx_size && *o.ctx_size < 0) || (o.parallel && *o.parallel < 1) || o.ubatch_size < 1 ||
      (o.n_gpu_layers && *o.n_gpu_layers < 0)) {
    throw ConfigError(
        "ctx_size and n_gpu_layers: not negative; parallel and ubatch_size: at least 1");
  }
}

void fail_allocation(BudgetBuilder& builder, StartupStage stage, std::string_view text,
                     ByteCount wanted, ByteCount given) {
  builder.fail({stage,
                fmt::format("{}: {:.2f} GiB wanted, {:.2f} GiB free", text, gib_from_bytes(wanted),
                            gib_from_bytes(given)),
                wanted, given, 0});
}

// Charges one allocation or fails as the engine does.
void allocate(BudgetBuilder& builder, MemoryPurpose purpose, ByteCount bytes, ByteCount slack,
              StartupStage stage, std::string_view text) {
  if (builder.failed()) return;
  const ByteCount given = std::max<ByteCount>(0, builder.free_bytes() - slack);
  if (bytes > given) {
    fail_allocation(builder, stage, text, bytes, given);
    return;
  }
  builder.charge(purpose, bytes, stage);
}

// Weights that stay on the host of a unified machine. A mapped file need not fit.
void charge_host_weights(BudgetBuilder& builder, const LlamacppBudgetOptions& options,
                         ByteCount bytes, MemoryBudget& budget) {
  if (builder.failed()) return;
  if (options.no_mmap) {
    allocate(builder, MemoryPurpose::engine_host, bytes, 0, StartupStage::host_memory,
             "error loading model: unable to allocate CPU buffer");
    return;
  }
  if (bytes > builder.free_bytes()) {
    budget.notes.push_back(
        fmt::format("mapped weights of {:.2f} GiB do not fit in memory ({:.2f} GiB free), so every "
                    "step reads the file again",
                    gib_from_bytes(bytes), gib_from_bytes(builder.free_bytes())));
  }
  const ByteCount resident = std::min(bytes, builder.free_bytes());
  builder.charge(MemoryPurpose::page_cache, resident, StartupStage::weights);
  budget.mapped_weight_bytes += resident;
  budget.reread_weight_bytes += bytes - resident;
}

void charge_split(BudgetBuilder& builder, const BudgetInputs& inputs,
                  const LlamacppBudgetOptions& options, const LlamacppSplit& split,
                  MemoryBudget& budget) {
  const bool unified = inputs.device.memory_model == MemoryModel::unified;
  const bool mapped_device = unified && inputs.device.vendor != "nvidia" && !options.no_mmap;
  const ByteCount slack = inputs.machine.slack_bytes;
  charge_machine(builder, inputs.machine);
  if (split.is_used) {
    // Buffers are allocated before libraries and kernels are loaded, which nothing is checked for.
    builder.charge(MemoryPurpose::context, llamacpp_context_before_fit(inputs.device),
                   StartupStage::weights);
  }
  // Metal and the like use the mapped file in place.
  allocate(builder, mapped_device ? MemoryPurpose::page_cache : MemoryPurpose::weights,
           split.device_weights, slack, StartupStage::weights,
           "error loading model: unable to allocate device buffer");
  if (mapped_device && !builder.failed()) budget.mapped_weight_bytes = split.device_weights;
  allocate(builder, MemoryPurpose::kv_pool, split.device_kv + (unified ? split.host_kv : 0), slack,
           StartupStage::kv_allocation,
           "failed to initialize the context: failed to allocate buffer for kv cache");
  allocate(builder, MemoryPurpose::activations,
           split.device_compute + (unified ? split.host_compute : 0), slack, StartupStage::warm_up,
           "failed to initialize the context: failed to allocate compute pp buffers");
  if (unified) {
    charge_host_weights(builder, options, split.host_weights, budget);
  } else if (split.host() > 0) {
    budget.host_weight_bytes = split.host_weights;
    budget.host_kv_bytes = split.host_kv;
    budget.host_reads = split.host_reads;
    budget.notes.push_back(
        fmt::format("on the host: {:.2f} GiB of weights, {:.2f} GiB of KV, {:.2f} GiB of buffers",
                    gib_from_bytes(split.host_weights), gib_from_bytes(split.host_kv),
                    gib_from_bytes(split.host_compute)));
  }
}

// tools/server/server-task.cpp (server_prompt_cache), pull request 16391 of October 2025: prompts
// that lost their slot, which fill the host's memory up to the limit while the server runs. Nothing
// of it is there at the start, so it makes no start fail: what the user sets is counted as far as
// it goes, what stands there by default is told where it is more than what is left.
void charge_prompt_cache(BudgetBuilder& builder, const BudgetInputs& inputs,
                         const LlamacppBudgetOptions& options, MemoryBudget& budget) {
  constexpr EngineVersion kPromptCache{0, 6725};  // about: the build is recalled
  constexpr std::int64_t kDefaultMib = 8192;
  const std::int64_t by_version = options.version >= kPromptCache ? kDefaultMib : 0;
  const std::int64_t mib = options.cache_ram_mib.value_or(by_version);
  if (builder.failed() || mib == 0) return;
  const bool given = options.cache_ram_mib.has_value();
  const std::string size =
      mib < 0 ? "without limit" : fmt::format("to {:.2f} GiB", static_cast<double>(mib) / 1024);
  const std::string grows =
      fmt::format("the prompt cache grows {} while the server runs (cache_ram)", size);
  if (inputs.device.memory_model != MemoryModel::unified) {
    if (given) budget.notes.push_back(grows + ", in the host's memory");
    return;
  }
  // What Metal's working set leaves to the host is not the device's.
  const ByteCount outside =
      inputs.device.vendor == "nvidia"
          ? 0
          : inputs.device.memory_nominal_bytes - inputs.device.memory_reported_bytes;
  const ByteCount free = builder.free_bytes();
  const ByteCount most = mib < 0 ? free + 1 : std::max<ByteCount>(0, (mib << 20) - outside);
  if (most > free) {
    budget.notes.push_back(fmt::format(
        "{}, and {:.2f} GiB of the shared memory are free: cache_ram {} is the most that fits",
        grows, gib_from_bytes(free + outside), (free + outside) >> 20));
  } else if (given) {
    budget.notes.push_back(
        fmt::format("{}: {:.2f} GiB of it are counted", grows, gib_from_bytes(most)));
  }
  if (given) {
    builder.charge(MemoryPurpose::engine_host, std::min(most, free), StartupStage::host_memory);
  }
}

// Layers whose cache is the device's; with none, all.
KvLayout device_layout(const BudgetInputs& inputs, const LlamacppFit& fit, std::size_t device) {
  const ModelSpec& model = inputs.model;
  const LlamacppPlacement::Device& own = fit.placement.devices[device];
  const bool unified = inputs.device.memory_model == MemoryModel::unified;
  const bool has_host = unified && fit.placement.host_layers() > 0;
  if (!fit.options.no_kv_offload && !has_host) {
    KvLayout layout = llamacpp_pool_layout(model, fit.options, own.first, own.last);
    if (layout.block_bytes > 0) return layout;
  }
  return llamacpp_pool_layout(model, fit.options, 0, model.order.size());
}

MemoryBudget device_budget(const BudgetInputs& inputs, const LlamacppFit& fit,
                           std::int64_t device) {
  const LlamacppBudgetOptions& options = fit.options;
  const LlamacppCells cells = llamacpp_cells(inputs.model, options);
  const LlamacppSplit split = llamacpp_split(inputs, options, fit.placement, device);
  MemoryBudget budget;
  budget.layout = device_layout(inputs, fit, static_cast<std::size_t>(device));
  check_keeps_kv(budget.layout, inputs.model, "llama.cpp");
  BudgetBuilder builder(capacity_of(inputs));
  if (is_quantised(options.cache_type_v) && !llamacpp_flash_attention(options)) {
    builder.fail({StartupStage::kv_allocation,
                  "failed to initialize the context: quantized V cache requires flash_attn to be "
                  "enabled",
                  0, 0, 0});
  }
  charge_split(builder, inputs, options, split, budget);
  charge_prompt_cache(builder, inputs, options, budget);
  budget.max_model_len = cells.per_sequence;
  if (!builder.failed()) {
    budget.kv_pool_bytes = cells.total() * budget.layout.block_bytes;
    budget.kv_available_bytes = budget.kv_pool_bytes;
    budget.total_blocks = budget.usable_blocks = budget.kv_tokens = cells.total();
    budget.max_concurrency =
        static_cast<double>(cells.total()) / static_cast<double>(cells.per_sequence);
  }
  builder.finish(budget);
  return budget;
}

// The device that fails first, or the fullest one.
MemoryBudget fullest_device(const BudgetInputs& inputs, const LlamacppFit& fit) {
  MemoryBudget fullest = device_budget(inputs, fit, 0);
  for (std::int64_t d = 1; d < inputs.sharding.pipeline && !fullest.failure; ++d) {
    MemoryBudget budget = device_budget(inputs, fit, d);
    const auto left = [](const MemoryBudget& b) { return b.terms[MemoryPurpose::margin]; };
    if (budget.failure || left(budget) < left(fullest)) fullest = std::move(budget);
  }
  return fullest;
}

}  // namespace

LlamacppDefaults llamacpp_defaults(const DeviceSpec& /*device*/, const ModelSpec& /*model*/,
                                   EngineVersion version) {
  LlamacppDefaults defaults;
  if (version < kFourSlots) {
    defaults.parallel = 1;
    defaults.kv_unified = false;
  }
  if (version < kLlamacppFlash) {
    defaults.flash_attn = LlamacppFlashAttn::off;
    defaults.n_gpu_layers = 0;
    defaults.ctx_size = 4096;
  }
  return defaults;
}

LlamacppCells llamacpp_cells(const ModelSpec& model, const LlamacppBudgetOptions& options) {
  const LlamacppDefaults defaults = llamacpp_defaults({}, model, options.version);
  LlamacppCells cells;
  cells.slots = options.parallel.value_or(defaults.parallel);
  const bool unified = options.version < kStreams ||
                       options.kv_unified.value_or(!options.parallel && defaults.kv_unified);
  std::int64_t n_ctx = options.ctx_size.value_or(defaults.ctx_size);
  if (n_ctx == 0) n_ctx = model.max_position;
  if (n_ctx < 1) {
    throw ConfigError(fmt::format("ctx_size: {} declares no context length, so set one", model.id));
  }
  n_ctx = padded(n_ctx);
  cells.streams = unified ? 1 : cells.slots;
  cells.per_stream = unified ? n_ctx : padded(std::max<std::int64_t>(n_ctx / cells.slots, 1));
  // Before slots had caches of their own, each still had its part of the one.
  cells.per_sequence =
      options.version < kStreams ? cells.per_stream / cells.slots : cells.per_stream;
  if (model.max_position > 0) {  // a slot never exceeds the model's own length
    cells.per_sequence = std::min(cells.per_sequence, model.max_position);
  }
  if (is_encoder(model)) {
    // A prompt must fit in one micro batch, which is all that its tokens see
    // (tools/server/server-context.cpp: "input is too large to process").
    cells.streams = cells.slots;
    cells.per_stream = options.ubatch_size;
    cells.per_sequence = std::min(cells.per_sequence, options.ubatch_size);
  }
  return cells;
}

TokenCount llamacpp_window_cells(TokenCount window, const LlamacppCells& cells,
                                 const LlamacppBudgetOptions& options) {
  if (options.swa_full) return cells.per_stream;
  const std::int64_t sequences = cells.streams == 1 ? cells.slots : 1;
  return padded(std::min(cells.per_stream, window * sequences + options.ubatch_size));
}

MemoryBudget llamacpp_budget(const BudgetInputs& inputs, const LlamacppBudgetOptions& options) {
  check_options(inputs, options);
  const LlamacppFit fit = llamacpp_fit(inputs, options);
  MemoryBudget budget = fullest_device(inputs, fit);
  budget.notes.insert(budget.notes.begin(), fit.notes.begin(), fit.notes.end());
  return budget;
}

std::vector<std::string> llamacpp_budget_warnings(const BudgetInputs& inputs,
                                                  const LlamacppBudgetOptions& options) {
  std::vector<std::string> warnings;
  if (options.version > kNewestLlamacpp) {
    warnings.push_back(
        fmt::format("llama.cpp b{} is newer than b{}, the newest build whose rules are modelled",
                    options.version.minor, kNewestLlamacpp.minor));
  }
  warnings.emplace_back(
      "llama.cpp: cache and compute buffers match start-up logs; the device's context is an "
      "estimate");
  if (!options.n_gpu_layers && llamacpp_fit_rule(options) != LlamacppFitRule::none) {
    warnings.emplace_back(
        "llama.cpp: the number of layers that fit comes from this model, with 1 GiB to spare, not "
        "from the engine's own measurement");
  }
  if (has_experts(inputs.model)) {
    warnings.push_back(fmt::format(
        "llama.cpp: the compute buffer of the experts of {} is an estimate", inputs.model.id));
  }
  return warnings;
}

}  // namespace headroom
