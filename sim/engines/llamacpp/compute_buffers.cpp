#include "sim/engines/llamacpp/compute_buffers.hpp"

#include <algorithm>

namespace headroom {
namespace {

// Embeddings have been copied once more on the host at the latest since b7896, and not in builds of
// 2024: an estimate between the two.
constexpr EngineVersion kCopiesEmbeddings{0, 7079};

// The server reads logits of the sequences' last tokens alone, so room for no others is reserved
// (pull request 23861 of June 2026; src/llama-context.cpp: n_outputs_max). In b9512 at the latest.
constexpr EngineVersion kLimitsOutputs{0, 9512};
// Masks for flash attention are made in 16 bits: not in b9010, but in logs of mid-June 2026
// (src/llama-graph.cpp: build_attn_inp_kq_mask).
constexpr EngineVersion kHalfMasks{0, 9650};

// Cells that the masks of all caches cover, per token.
TokenCount masked_cells(const ModelSpec& model, const LlamacppBudgetOptions& options) {
  const LlamacppCells cells = llamacpp_cells(model, options);
  TokenCount masks = cells.per_stream;
  TokenCount window = 0;
  if (llamacpp_window_cache(model)) {
    for (const LayerKind& kind : model.kinds) {
      if (kind.attention) window = std::max(window, kind.attention->window_tokens);
    }
    masks += llamacpp_window_cells(window, cells, options);
  }
  return masks;
}

}  // namespace

bool llamacpp_flash_attention(const LlamacppBudgetOptions& options) {
  const LlamacppFlashAttn by_version =
      options.version >= kLlamacppFlash ? LlamacppFlashAttn::automatic : LlamacppFlashAttn::off;
  // Automatic is on where the backend has kernels, which CUDA, Metal and the CPU have.
  return options.flash_attn.value_or(by_version) != LlamacppFlashAttn::off;
}

bool llamacpp_window_cache(const ModelSpec& model) {
  bool full = false;
  bool window = false;
  for (const LayerKind& kind : model.kinds) {
    if (kind.attention) (kind.attention->window_tokens > 0 ? window : full) = true;
  }
  return full && window;
}

std::int64_t llamacpp_output_rows(const ModelSpec& model, const LlamacppBudgetOptions& options) {
  if (options.version < kLimitsOutputs) return options.ubatch_size;
  return std::min<std::int64_t>(options.ubatch_size, llamacpp_cells(model, options).slots);
}

ByteCount llamacpp_host_inputs(const ModelSpec& model, const LlamacppBudgetOptions& options) {
  constexpr std::int64_t kFloatBytes = 4;
  const bool half = llamacpp_flash_attention(options) && options.version >= kHalfMasks;
  const std::int64_t copies = options.version >= kCopiesEmbeddings ? 2 : 1;
  return options.ubatch_size * (copies * model.hidden * kFloatBytes +
                                masked_cells(model, options) * (half ? 2 : kFloatBytes));
}

LlamacppProjector llamacpp_projector(const ModelSpec& model) {
  constexpr std::int64_t kFloatBytes = 4;
  using Family = VisionSpec::Family;
  const auto& vision = model.vision;
  if (!vision || (vision->family != Family::clip && vision->family != Family::gemma3)) return {};
  return {vision->patches * (vision->ffn + 3 * vision->hidden) * kFloatBytes,
          vision->patches * vision->patch * vision->patch * 3 * kFloatBytes};
}

ByteCount llamacpp_compute_bytes(const ModelSpec& model, const LlamacppBudgetOptions& options,
                                 bool with_output) {
  constexpr std::int64_t kFloat = 4;
  const TokenCount cells = llamacpp_cells(model, options).per_stream;
  std::int64_t heads = 0;
  std::int64_t mlp = 0;
  std::int64_t dense = 0;
  for (const LayerKind& kind : model.kinds) {
    if (kind.attention) heads = std::max(heads, kind.attention->q_heads);
    if (kind.mlp) mlp = std::max(mlp, 2 * kind.mlp->ffn + 2 * model.hidden);
    if (kind.mlp && !kind.moe) dense = std::max(dense, kind.mlp->ffn);
    if (kind.moe) {
      mlp = std::max(mlp, kind.moe->top_k * (2 * kind.moe->ffn + model.hidden) +
                              2 * kind.moe->shared_ffn + 2 * model.hidden);
    }
  }
  // Query, attention output, residual and normed copy; with scores also the fp32 mask, with flash
  // attention the 16-bit one.
  const std::int64_t states = 4 * model.hidden * kFloat;
  const std::int64_t attention = llamacpp_flash_attention(options)
                                     ? states + cells * 2
                                     : states + cells * (heads + 1) * kFloat;
  // With flash attention the masks stay while a dense MLP has gate, product, input and output: to
  // 1 % as logged for SmolVLM and Gemma 3.
  const std::int64_t beside_masks =
      dense > 0 && llamacpp_flash_attention(options)
          ? masked_cells(model, options) * 2 + 3 * (dense + model.hidden) * kFloat
          : 0;
  const std::int64_t output = with_output ? (model.vocab + model.hidden) * kFloat : 0;
  return std::max(options.ubatch_size * std::max({attention, mlp * kFloat, beside_masks}),
                  llamacpp_output_rows(model, options) * output);
}

}  // namespace headroom
