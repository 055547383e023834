#include "sim/engines/llamacpp/ollama_fit.hpp"

#include <algorithm>
#include <optional>

#include "hardware/llm/parameters.hpp"
#include "sim/engines/llamacpp/fit.hpp"

namespace headroom {
namespace {

constexpr ByteCount kKeptFree = 457 * kMib;  // MinimumMemory: 512 with Metal
constexpr ByteCount kKeptFreeOnMetal = 512 * kMib;

// The driver's library tells what is free without a context (logs of 0.13.5 to 0.22.1: all but 4 to
// 16 MiB of three devices; 0.11.10: all but 248).
constexpr EngineVersion kAsksDriver{0, 7437};

// What the estimate knows of a model: only Llama's and Qwen2's kinds have graphs of their own here.
// Others of the old runner are rare, and newer ones run on Ollama's own.
std::optional<AttentionSpec> estimated(const ModelSpec& model) {
  if (model.kinds.size() != 1) return std::nullopt;
  const LayerKind& kind = model.kinds.front();
  if (!kind.attention || !kind.mlp || kind.moe || kind.attention->mla) return std::nullopt;
  if (kind.attention->qk_norm || kind.attention->window_tokens > 0) return std::nullopt;
  return kind.attention;
}

// Bytes of the graph with all layers on the device and with a part of them.
ByteCount graph_size(const ModelSpec& model, const AttentionSpec& a, std::int64_t context,
                     std::int64_t batch, bool metal) {
  const std::int64_t h = model.hidden;
  const std::int64_t logits = 4 * batch * (h + model.vocab);
  const std::int64_t scores = context * (1 + a.q_heads);
  const std::int64_t copied_output = logits + h * model.vocab * 105 / 128;
  if (a.qkv_bias) {  // qwen2
    const std::int64_t full = std::max(logits, 4 * batch * (1 + 2 * h + scores));
    const std::int64_t part =
        std::max(copied_output, 4 * (batch * (1 + 2 * h + scores) + h * (1 + context)));
    return metal ? full : std::max(full, part);
  }
  const std::int64_t full = std::max(4 * batch * (1 + 4 * h + scores), logits);
  const std::int64_t part =
      4 * batch * h + std::max(4 * batch * (1 + h + std::max(context, h)) + h * h * 9 / 16 +
                                   4 * context * (batch * a.q_heads + a.head_dim * a.kv_heads),
                               copied_output);
  return metal ? full : std::max(full, part);
}

// The file and a cache in 16 bits, as if all layers were alike (llm/llama_server.go,
// PredictServerVRAM).
ByteCount predicted_bytes(const ModelSpec& model, std::int64_t cells) {
  std::int64_t query_heads = 1;
  std::int64_t kv_heads = 0;
  for (const LayerKind& kind : model.kinds) {
    if (!kind.attention) continue;
    query_heads = std::max(query_heads, kind.attention->q_heads);
    const std::int64_t own = std::max<std::int64_t>(kind.attention->kv_heads, 1);
    kv_heads = kv_heads == 0 ? own : std::min(kv_heads, own);
  }
  return checkpoint_bytes(model) + 4 * model.layers() * std::max<std::int64_t>(kv_heads, 1) *
                                       (model.hidden / query_heads) * cells;
}

}  // namespace

void ollama_choose_devices(const BudgetInputs& inputs, LlamacppBudgetOptions& options) {
  const ByteCount free = llamacpp_free_bytes(inputs) - llamacpp_context_before_fit(inputs.device);
  if (predicted_bytes(inputs.model, *options.ctx_size) <= free * 80 / 100) options.devices = 1;
}

void ollama_fit(const BudgetInputs& inputs, LlamacppBudgetOptions& options) {
  const bool metal = inputs.device.vendor == "apple";
  options.fit_target_bytes = metal ? kKeptFreeOnMetal : kKeptFree;
  const bool discrete = inputs.device.memory_model == MemoryModel::discrete;
  options.context_before_fit =
      discrete && options.version >= kAsksDriver ? 0 : llamacpp_context_before_fit(inputs.device);
  options.fit = LlamacppFitRule::layers;
  const std::int64_t devices = inputs.sharding.pipeline;
  const std::int64_t layers = inputs.model.layers();
  const ByteCount free = llamacpp_free_bytes(inputs) - *options.context_before_fit;
  const std::optional<AttentionSpec> attention = estimated(inputs.model);
  const std::int64_t context = *options.ctx_size;
  const ByteCount graph =
      attention ? graph_size(inputs.model, *attention, context,
                             std::min(options.ubatch_size, context / *options.parallel), metal)
                : 0;
  const auto split = [&](std::int64_t count, std::int64_t device) {
    return llamacpp_split(inputs, options, count, device);
  };
  const auto held = [&](std::int64_t count, std::int64_t device) {
    const LlamacppSplit one = split(count, device);
    return one.device_weights + one.device_kv + (attention ? 0 : one.device_compute);
  };
  options.devices = 1;
  // Kept free as a buffer: the size of the first layer.
  const ByteCount spare = attention ? held(layers, 0) - held(layers - 1, 0) : 0;
  const auto fits = [&](std::int64_t count) {
    for (std::int64_t d = 0; d < devices; ++d) {
      if (held(count, d) > free - options.fit_target_bytes - spare - graph) return false;
    }
    return true;
  };
  // "Try to pack things into as few GPUs as possible" (assignLayers).
  while (*options.devices < devices && !fits(layers + 1)) ++*options.devices;
  if (!attention) return;
  std::int64_t count = layers + 1;
  while (count > 0 && !fits(count)) --count;
  options.n_gpu_layers = count;
}

}  // namespace headroom
