#include "sim/engines/llamacpp/budget.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "hardware/budget/activations.hpp"
#include "hardware/llm/kv_geometry.hpp"
#include "hardware/llm/parameters.hpp"
#include "sim/engines/llamacpp/compute_buffers.hpp"
#include "sim/engines/llamacpp/compute_graph.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

constexpr EngineVersion kFourSlots{0, 7079};
// Slots got caches of their own with pull request 14363 of July 2025.
constexpr EngineVersion kStreams{0, 5898};
// The output became a layer that n_gpu_layers counts first between b7079 and b10481.
constexpr EngineVersion kOutputCountsFirst{0, 8000};
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

// K and V of one token in one layer.
ByteCount layer_kv_bytes(const AttentionSpec& a, const LlamacppBudgetOptions& options) {
  if (a.shares_kv) return 0;
  if (a.mla) return stored_bytes(options.cache_type_k, a.mla->kv_lora_rank + a.mla->qk_rope);
  return stored_bytes(options.cache_type_k, a.kv_heads * a.head_dim) +
         stored_bytes(options.cache_type_v, a.kv_heads * a.v_head_dim);
}

TokenCount layer_cells(const ModelSpec& model, const AttentionSpec& a, const LlamacppCells& cells,
                       const LlamacppBudgetOptions& options) {
  if (a.window_tokens == 0 || !llamacpp_window_cache(model)) return cells.total();
  return cells.streams * llamacpp_window_cells(a.window_tokens, cells, options);
}

ByteCount layer_state_bytes(const RecurrentSpec& recurrent) {
  RecurrentSpec r = recurrent;
  r.state_dtype = r.conv_dtype = Dtype::fp32;
  return state_bytes(r, 1);
}

// Cache and states of the layers [first, last).
ByteCount cache_bytes(const ModelSpec& model, const LlamacppBudgetOptions& options,
                      std::size_t first, std::size_t last) {
  const LlamacppCells cells = llamacpp_cells(model, options);
  ByteCount bytes = 0;
  for (std::size_t i = first; i < last; ++i) {
    const LayerKind& kind = model.layer(i);
    if (kind.attention) {
      bytes += layer_cells(model, *kind.attention, cells, options) *
               layer_kv_bytes(*kind.attention, options);
    }
    if (kind.recurrent) bytes += cells.slots * layer_state_bytes(*kind.recurrent);
  }
  return bytes;
}

bool has_stored_layers(const ModelSpec& model) {
  return model.stored && model.stored->layers.size() == model.order.size();
}

// Of the norm before the output, which goes where the output is.
ByteCount output_norm_bytes(const ModelSpec& model) {
  if (!has_stored_layers(model)) return 0;
  return model.stored->outside[static_cast<std::size_t>(ModelPart::small)];
}

// Weights of the layers [first, last) alone.
ByteCount layer_weights(const ModelSpec& model, std::size_t first, std::size_t last) {
  if (first >= last) return 0;
  if (has_stored_layers(model)) {
    ByteCount bytes = 0;
    for (std::size_t i = first; i < last; ++i) {
      const PartBytes& layer = model.stored->layers[i];
      bytes += std::accumulate(layer.begin(), layer.end(), ByteCount{0});
    }
    return bytes;
  }
  ModelSpec part = model;
  part.vision.reset();
  part.order.assign(model.order.begin() + static_cast<std::ptrdiff_t>(first),
                    model.order.begin() + static_cast<std::ptrdiff_t>(last));
  const ModelParts parts = model_parts(part);
  return parts.bytes_total() - parts.bytes_of(ModelPart::embedding) -
         parts.bytes_of(ModelPart::lm_head);
}

// Layers of full length: the pool that requests grow in.
KvLayout pool_layout(const ModelSpec& model, const LlamacppBudgetOptions& options) {
  const bool windows = llamacpp_window_cache(model);
  ByteCount per_token = 0;
  std::int32_t layers = 0;
  for (std::size_t i = 0; i < model.order.size(); ++i) {
    const LayerKind& kind = model.layer(i);
    if (!kind.attention || (windows && kind.attention->window_tokens > 0)) continue;
    per_token += layer_kv_bytes(*kind.attention, options);
    ++layers;
  }
  return uniform_layout(layers, per_token, 1);
}

// Products of large batches with weights on the host run on the device, which copies the weights
// into its compute buffer (ggml-backend.cpp, ggml_backend_sched_backend_id_from_cur; ggml-cuda.cu,
// ggml_backend_cuda_device_offload_op).
bool copies_weights(const DeviceSpec& device, std::int64_t rows) {
  constexpr std::int64_t kLeastTokens = 32;
  return device.vendor != "apple" && rows >= kLeastTokens;
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
}

void charge_split(BudgetBuilder& builder, const BudgetInputs& inputs,
                  const LlamacppBudgetOptions& options, const LlamacppSplit& split,
                  MemoryBudget& budget) {
  const bool unified = inputs.device.memory_model == MemoryModel::unified;
  const bool mapped_device = unified && inputs.device.vendor != "nvidia" && !options.no_mmap;
  const ByteCount slack = inputs.machine.slack_bytes;
  charge_machine(builder, inputs.machine);
  if (split.gpu_layers > 0) {
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
    budget.host_read_share = split.host_read_share;
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

// What a process holds of a discrete device when the engine first asks for its free memory
// (common/fit.cpp: common_fit_params, through ggml_backend_dev_memory). Libraries and kernels come
// later, out of the margin that the fit leaves. Three logs of a T4: 14,807 of 14,912 MiB are free.
constexpr ByteCount kBareContextBytes = 105 * kMib;

bool fits(const BudgetInputs& inputs, const LlamacppBudgetOptions& options,
          std::int64_t gpu_layers) {
  const ByteCount room =
      llamacpp_free_bytes(inputs) -
      options.context_before_fit.value_or(llamacpp_context_before_fit(inputs.device)) -
      options.fit_target_bytes;
  for (std::int64_t stage = 0; stage < inputs.sharding.pipeline; ++stage) {
    if (llamacpp_split(inputs, options, gpu_layers, stage).device() > room) return false;
  }
  return true;
}

// What the engine chooses when n_gpu_layers is not given.
struct Fit {
  LlamacppBudgetOptions options;
  std::vector<std::string> notes;
};

Fit fit_to_device(const BudgetInputs& inputs, LlamacppBudgetOptions options) {
  Fit fit{options, {}};
  LlamacppBudgetOptions& o = fit.options;
  const std::int64_t all = inputs.model.layers() + 1;
  if (o.n_gpu_layers) return fit;
  if (o.version < kLlamacppFlash) {
    o.n_gpu_layers = 0;
    return fit;
  }
  const bool unset = o.ctx_size.value_or(llamacpp_defaults({}, {}, o.version).ctx_size) == 0;
  if (unset && inputs.model.max_position > o.fit_ctx && !fits(inputs, o, all)) {
    std::int64_t low = o.fit_ctx / kPadding;  // taken even when it does not fit
    std::int64_t high = padded(inputs.model.max_position) / kPadding;  // does not fit
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      o.ctx_size = middle * kPadding;
      (fits(inputs, o, all) ? low : high) = middle;
    }
    o.ctx_size = low * kPadding;
    fit.notes.push_back(fmt::format("ctx_size lowered from {} to {} to fit the device",
                                    inputs.model.max_position, *o.ctx_size));
  }
  std::int64_t layers = all;
  while (layers > 0 && !fits(inputs, o, layers)) --layers;
  o.n_gpu_layers = layers;
  if (layers < all) {
    fit.notes.push_back(fmt::format("{} of {} layers on the device", layers, all));
  }
  return fit;
}

MemoryBudget stage_budget(const BudgetInputs& inputs, const LlamacppBudgetOptions& options,
                          std::int64_t stage) {
  const LlamacppCells cells = llamacpp_cells(inputs.model, options);
  const std::int64_t layers = inputs.model.layers() + 1;
  const LlamacppSplit split = llamacpp_split(
      inputs, options, std::min(options.n_gpu_layers.value_or(layers), layers), stage);
  MemoryBudget budget;
  budget.layout = pool_layout(inputs.model, options);
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

}  // namespace

ByteCount llamacpp_free_bytes(const BudgetInputs& inputs) {
  return capacity_of(inputs) - inputs.machine.not_free_bytes() - inputs.machine.slack_bytes;
}

ByteCount llamacpp_context_before_fit(const DeviceSpec& device) {
  return device.memory_model == MemoryModel::discrete && device.vendor == "nvidia"
             ? kBareContextBytes
             : kContextBytes;
}

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
  return cells;
}

TokenCount llamacpp_window_cells(TokenCount window, const LlamacppCells& cells,
                                 const LlamacppBudgetOptions& options) {
  if (options.swa_full) return cells.per_stream;
  const std::int64_t sequences = cells.streams == 1 ? cells.slots : 1;
  return padded(std::min(cells.per_stream, window * sequences + options.ubatch_size));
}

ByteCount llamacpp_kv_bytes(const ModelSpec& model, const LlamacppBudgetOptions& options) {
  return cache_bytes(model, options, 0, model.order.size()) - llamacpp_state_bytes(model, options);
}

ByteCount llamacpp_state_bytes(const ModelSpec& model, const LlamacppBudgetOptions& options) {
  const std::int64_t slots = llamacpp_cells(model, options).slots;
  ByteCount bytes = 0;
  for (std::size_t i = 0; i < model.order.size(); ++i) {
    const LayerKind& kind = model.layer(i);
    if (kind.recurrent) bytes += slots * layer_state_bytes(*kind.recurrent);
  }
  return bytes;
}

LlamacppSplit llamacpp_split(const BudgetInputs& inputs, const LlamacppBudgetOptions& options,
                             std::int64_t gpu_layers, std::int64_t stage) {
  const ModelSpec& model = inputs.model;
  const std::int64_t layers = model.layers();
  const bool last = stage + 1 == inputs.sharding.pipeline;
  const bool counts_output = !options.output_last && options.version >= kOutputCountsFirst;
  const std::int64_t on_device =
      std::min(layers, counts_output ? std::max<std::int64_t>(gpu_layers - 1, 0) : gpu_layers);
  const bool output = counts_output ? gpu_layers > 0 : gpu_layers > layers;
  const auto start = static_cast<std::size_t>(layers - on_device);
  const StageLayers range = stage_layers(model, inputs.sharding, stage);
  const std::size_t first = std::clamp(start, range.first, range.last);

  const ModelParts parts = model_parts(model);
  const ByteCount table = parts.bytes_of(ModelPart::embedding);
  // With tied embeddings the output is a second copy of the table.
  const ByteCount head = model.tie_embeddings ? table : parts.bytes_of(ModelPart::lm_head);
  LlamacppSplit split;
  split.gpu_layers = gpu_layers;
  const ByteCount norm = output_norm_bytes(model);
  split.device_weights =
      layer_weights(model, first, range.last) + (output && last ? head + norm : 0);
  split.host_weights = table + layer_weights(model, 0, start) + (output ? 0 : norm) +
                       (output || model.tie_embeddings ? 0 : head);
  const auto host_read = static_cast<double>(layer_weights(model, 0, start) + (output ? 0 : head));
  const auto read = static_cast<double>(layer_weights(model, 0, model.order.size()) + head);
  split.host_read_share = read > 0 ? host_read / read : 0;
  const ByteCount vision = parts.bytes_of(ModelPart::vision);
  if (gpu_layers == 0) split.host_weights += vision;
  if (gpu_layers > 0 && stage == 0) split.device_weights += vision;
  split.device_kv = cache_bytes(model, options, first, range.last);
  split.host_kv = cache_bytes(model, options, 0, start);
  if (options.no_kv_offload) {
    split.host_kv = cache_bytes(model, options, 0, model.order.size());
    split.device_kv = 0;
  }
  const std::int64_t input_copies = llamacpp_input_copies(inputs, start == 0 && output, options);
  split.host_compute = llamacpp_host_inputs(model, options, input_copies);
  const LlamacppProjector projector = llamacpp_projector(model);
  const bool copies = gpu_layers > 0 && copies_weights(inputs.device, options.ubatch_size);
  if (gpu_layers > 0) {
    const std::int64_t rows = llamacpp_output_rows(model, options);
    split.device_compute =
        llamacpp_graph_bytes(model, options,
                             {.first = first,
                              .last = range.last,
                              .output = output && last,
                              .copies_head = last && !output && copies_weights(inputs.device, rows),
                              .copies_layers = copies && stage == 0,
                              .input_copies = input_copies});
    if (stage == 0) split.device_compute += projector.device;
  }
  if (!copies && (start > 0 || !output)) {
    split.host_compute = std::max(
        split.host_compute,
        llamacpp_graph_bytes(model, options, {.first = 0, .last = start, .output = !output}));
  }
  if (stage == 0) split.host_compute += projector.host + (gpu_layers > 0 ? 0 : projector.device);
  return split;
}

MemoryBudget llamacpp_budget(const BudgetInputs& inputs, const LlamacppBudgetOptions& options) {
  check_options(inputs, options);
  const Fit fit = fit_to_device(inputs, options);
  MemoryBudget budget = tightest_stage(inputs.sharding, [&](std::int64_t stage) {
    return stage_budget(inputs, fit.options, stage);
  });
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
  if (!options.n_gpu_layers && options.version >= kLlamacppFlash) {
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
