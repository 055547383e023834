#include "sim/engines/llamacpp/ollama_fit.hpp"

#include <algorithm>
#include <optional>

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

}  // namespace

void ollama_fit(const BudgetInputs& inputs, LlamacppBudgetOptions& options) {
  const bool metal = inputs.device.vendor == "apple";
  options.fit_target_bytes = metal ? kKeptFreeOnMetal : kKeptFree;
  const bool discrete = inputs.device.memory_model == MemoryModel::discrete;
  options.context_before_fit =
      discrete && options.version >= kAsksDriver ? 0 : llamacpp_context_before_fit(inputs.device);
  const std::optional<AttentionSpec> attention = estimated(inputs.model);
  if (!attention || inputs.sharding.pipeline > 1) return;
  const std::int64_t layers = inputs.model.layers();
  const std::int64_t context = *options.ctx_size;
  const auto held = [&](std::int64_t count) {
    const LlamacppSplit split = llamacpp_split(inputs, options, count);
    return split.device_weights + split.device_kv;
  };
  const ByteCount first_layer = held(layers) - held(layers - 1);  // kept free as a buffer
  const ByteCount room =
      llamacpp_free_bytes(inputs) - *options.context_before_fit - options.fit_target_bytes -
      first_layer -
      graph_size(inputs.model, *attention, context,
                 std::min(options.ubatch_size, context / *options.parallel), metal);
  std::int64_t count = layers + 1;
  while (count > 0 && held(count) > room) --count;
  options.n_gpu_layers = count;
}

}  // namespace headroom
