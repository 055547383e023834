#include "sim/engines/llamacpp/split.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "hardware/llm/kv_geometry.hpp"
#include "hardware/llm/parameters.hpp"
#include "sim/engines/llamacpp/compute_buffers.hpp"
#include "sim/engines/llamacpp/compute_graph.hpp"

namespace headroom {
namespace {

// The output became a layer that n_gpu_layers counts first between b7079 and b10481.
constexpr EngineVersion kOutputCountsFirst{0, 8000};

// K and V of one token in one layer. An encoder's are not kept (src/llama-model.cpp: create_memory
// returns none for BERT and its like).
ByteCount layer_kv_bytes(const AttentionSpec& a, const LlamacppBudgetOptions& options) {
  if (a.shares_kv || a.bidirectional) return 0;
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

// Routed experts of those of the layers [first, last) that `takes` names.
template <class Takes>
ByteCount expert_weights(const ModelSpec& model, std::size_t first, std::size_t last, Takes takes) {
  std::vector<std::optional<ByteCount>> of_kind(model.kinds.size());
  ByteCount bytes = 0;
  for (std::size_t i = first; i < last; ++i) {
    if (!model.layer(i).moe || !takes(i)) continue;
    std::optional<ByteCount> known;
    std::optional<ByteCount>& one = has_stored_layers(model) ? known : of_kind[model.order[i]];
    if (!one) {
      const PartBytes parts = llamacpp_layer_parts(model, i);
      one = parts[static_cast<std::size_t>(ModelPart::experts)] +
            parts[static_cast<std::size_t>(ModelPart::expert_bias)];
    }
    bytes += *one;
  }
  return bytes;
}

// Products of large batches with weights on the host run on the device, which copies the weights
// into its compute buffer (ggml-backend.cpp, ggml_backend_sched_backend_id_from_cur; ggml-cuda.cu,
// ggml_backend_cuda_device_offload_op).
bool copies_weights(const DeviceSpec& device, std::int64_t rows) {
  constexpr std::int64_t kLeastTokens = 32;
  return device.vendor != "apple" && rows >= kLeastTokens;
}

// What a step with one token reads, and what of it the host holds.
HostReads host_reads(const ModelSpec& model, const LlamacppPlacement& placement, ByteCount head,
                     double kv_share) {
  const std::size_t start = placement.host_layers();
  const std::size_t all = model.order.size();
  const auto any = [](std::size_t) { return true; };
  const auto on_host = [&](std::size_t i) {
    return i < start || (!placement.host_experts.empty() && placement.host_experts[i]);
  };
  const ByteCount whole = layer_weights(model, 0, all);
  const ByteCount experts = expert_weights(model, 0, all, any);
  HostReads reads;
  reads.always = layer_weights(model, 0, start) - expert_weights(model, 0, start, any);
  reads.experts = expert_weights(model, 0, all, on_host);
  reads.head = placement.has_output() ? 0 : head;
  reads.kv_share = kv_share;
  double reached = 0;
  for (const LayerKind& kind : model.kinds) {
    if (kind.moe) {
      reached = static_cast<double>(kind.moe->top_k) / static_cast<double>(kind.moe->experts);
    }
  }
  const double read =
      static_cast<double>(whole - experts + head) + reached * static_cast<double>(experts);
  const double from_host =
      static_cast<double>(reads.always + reads.head) + reached * static_cast<double>(reads.experts);
  reads.weight_share = read > 0 ? from_host / read : 0;
  return reads;
}

}  // namespace

bool LlamacppPlacement::has_output() const { return std::ranges::any_of(devices, &Device::output); }

std::int64_t LlamacppPlacement::gpu_layers() const {
  return static_cast<std::int64_t>(devices.back().last - devices.front().first) +
         (has_output() ? 1 : 0);
}

std::int64_t LlamacppPlacement::used_devices() const {
  return std::ranges::count_if(devices, &Device::is_used);
}

bool llamacpp_output_last(const LlamacppBudgetOptions& options) {
  return options.output_last || options.version < kOutputCountsFirst;
}

std::int64_t llamacpp_devices(const BudgetInputs& inputs, const LlamacppBudgetOptions& options) {
  return std::min(options.devices.value_or(inputs.sharding.pipeline), inputs.sharding.pipeline);
}

// src/llama-model.cpp, load_tensors: the split by free memory, and the layer it falls on.
LlamacppPlacement llamacpp_even_placement(const BudgetInputs& inputs,
                                          const LlamacppBudgetOptions& options,
                                          std::int64_t gpu_layers) {
  const std::int64_t layers = inputs.model.layers();
  const std::int64_t devices = llamacpp_devices(inputs, options);
  const bool counts_output = !llamacpp_output_last(options);
  const std::int64_t count = std::min(gpu_layers, layers + 1);
  const std::int64_t start =
      std::clamp<std::int64_t>(counts_output ? layers + 1 - count : layers - count, 0, layers);
  // The output follows the last layer.
  const std::int64_t output_device =
      count > layers - start ? (layers - start) * devices / count : -1;
  LlamacppPlacement placement;
  placement.devices.resize(static_cast<std::size_t>(inputs.sharding.pipeline));
  const auto begin_of = [&](std::int64_t device) {  // the first layer whose part is not before it
    const std::int64_t before = (device * count + devices - 1) / devices;
    return static_cast<std::size_t>(std::min(layers, start + before));
  };
  for (std::int64_t d = 0; d < inputs.sharding.pipeline; ++d) {
    const std::int64_t own = std::min(d, devices);
    placement.devices[static_cast<std::size_t>(d)] = {
        begin_of(own), begin_of(std::min(own + 1, devices)), d == output_device};
  }
  const std::int64_t moved = std::min(options.n_cpu_moe.value_or(0), layers);
  if (moved > 0) {
    placement.host_experts.assign(static_cast<std::size_t>(layers), false);
    std::fill_n(placement.host_experts.begin(), moved, true);
  }
  return placement;
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

KvLayout llamacpp_pool_layout(const ModelSpec& model, const LlamacppBudgetOptions& options,
                              std::size_t first, std::size_t last) {
  const bool windows = llamacpp_window_cache(model);
  ByteCount per_token = 0;
  std::int32_t layers = 0;
  for (std::size_t i = first; i < last; ++i) {
    const LayerKind& kind = model.layer(i);
    if (!kind.attention || (windows && kind.attention->window_tokens > 0)) continue;
    // A byte lets the scheduler count an encoder's cells all the same.
    per_token += kind.attention->bidirectional ? 1 : layer_kv_bytes(*kind.attention, options);
    ++layers;
  }
  return uniform_layout(layers, per_token, 1);
}

PartBytes llamacpp_layer_parts(const ModelSpec& model, std::size_t layer) {
  if (has_stored_layers(model)) return model.stored->layers[layer];
  ModelSpec one = model;
  one.vision.reset();
  one.order = {model.order[layer]};
  const ModelParts parts = model_parts(one);
  PartBytes bytes{};
  for (std::size_t i = 0; i < kModelPartCount; ++i) {
    bytes[i] = parts.bytes_of(static_cast<ModelPart>(i));
  }
  return bytes;
}

namespace {

// The buffers of the graph on the device and on the host.
void set_compute(const BudgetInputs& inputs, const LlamacppBudgetOptions& options,
                 const LlamacppPlacement& placement, std::int64_t device, LlamacppSplit& split) {
  const ModelSpec& model = inputs.model;
  const LlamacppPlacement::Device& own = placement.devices[static_cast<std::size_t>(device)];
  const std::size_t start = placement.host_layers();
  const bool output = placement.has_output();
  const bool uses_devices = placement.used_devices() > 0;
  // Copied matrices go to the first device, whoever has the layers behind them.
  const bool is_first = device == 0;
  const bool is_last =
      std::ranges::none_of(placement.devices.begin() + device + 1, placement.devices.end(),
                           &LlamacppPlacement::Device::is_used);
  // Moved experts end the work on several micro batches at once, too.
  const bool all_on_devices = start == 0 && output && placement.host_experts.empty();
  const std::int64_t input_copies =
      llamacpp_input_copies(llamacpp_devices(inputs, options), all_on_devices, options);
  split.host_compute = llamacpp_host_inputs(model, options, input_copies);
  const LlamacppProjector projector = llamacpp_projector(model);
  const bool copies = uses_devices && copies_weights(inputs.device, options.ubatch_size);
  if (own.is_used()) {
    const std::int64_t rows = llamacpp_output_rows(model, options);
    split.device_compute = llamacpp_graph_bytes(
        model, options,
        {.first = own.first,
         .last = own.last,
         .output = own.output,
         .copies_head = is_last && !output && copies_weights(inputs.device, rows),
         .copies_layers = copies && is_first,
         .host_experts = copies && is_first ? placement.host_experts : std::vector<bool>{},
         .input_copies = input_copies});
    if (is_first) split.device_compute += projector.device;
  }
  if (!copies && (start > 0 || !output)) {
    split.host_compute = std::max(
        split.host_compute,
        llamacpp_graph_bytes(model, options, {.first = 0, .last = start, .output = !output}));
  }
  if (is_first) split.host_compute += projector.host + (uses_devices ? 0 : projector.device);
}

}  // namespace

LlamacppSplit llamacpp_split(const BudgetInputs& inputs, const LlamacppBudgetOptions& options,
                             const LlamacppPlacement& placement, std::int64_t device) {
  const ModelSpec& model = inputs.model;
  const LlamacppPlacement::Device& own = placement.devices[static_cast<std::size_t>(device)];
  const std::size_t start = placement.host_layers();
  const bool output = placement.has_output();
  const bool uses_devices = placement.used_devices() > 0;
  const auto moved = [&](std::size_t i) {
    return !placement.host_experts.empty() && placement.host_experts[i];
  };

  const ModelParts parts = model_parts(model);
  const ByteCount table = parts.bytes_of(ModelPart::embedding);
  // With tied embeddings the output is a second copy of the table.
  const ByteCount head = model.tie_embeddings ? table : parts.bytes_of(ModelPart::lm_head);
  const ByteCount norm = output_norm_bytes(model);
  LlamacppSplit split;
  split.is_used = own.is_used();
  split.device_weights = layer_weights(model, own.first, own.last) -
                         expert_weights(model, own.first, own.last, moved) +
                         (own.output ? head + norm : 0);
  split.host_weights = table + layer_weights(model, 0, start) +
                       expert_weights(model, start, model.order.size(), moved) +
                       (output ? 0 : norm) + (output || model.tie_embeddings ? 0 : head);
  const ByteCount vision = parts.bytes_of(ModelPart::vision);
  if (!uses_devices) split.host_weights += vision;
  if (uses_devices && device == 0) split.device_weights += vision;

  const ByteCount cache = cache_bytes(model, options, 0, model.order.size());
  split.device_kv = options.no_kv_offload ? 0 : cache_bytes(model, options, own.first, own.last);
  split.host_kv = options.no_kv_offload ? cache : cache_bytes(model, options, 0, start);
  split.host_reads =
      host_reads(model, placement, head,
                 cache > 0 ? static_cast<double>(split.host_kv) / static_cast<double>(cache) : 0);
  set_compute(inputs, options, placement, device, split);
  return split;
}

LlamacppSplit llamacpp_split(const BudgetInputs& inputs, const LlamacppBudgetOptions& options,
                             std::int64_t gpu_layers, std::int64_t device) {
  return llamacpp_split(inputs, options, llamacpp_even_placement(inputs, options, gpu_layers),
                        device);
}

}  // namespace headroom
