#include "sim/engines/llamacpp/compute_buffers.hpp"

#include <algorithm>

namespace headroom {
namespace {

// Embeddings have been copied once more on the host in b7896, not yet in b7780: logs of both.
constexpr EngineVersion kCopiesEmbeddings{0, 7838};

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

bool llamacpp_half_masks(const LlamacppBudgetOptions& options) {
  return llamacpp_flash_attention(options) && options.version >= kHalfMasks;
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

std::int64_t llamacpp_input_copies(std::int64_t devices, bool all_on_devices,
                                   const LlamacppBudgetOptions& options) {
  constexpr std::int64_t kMaxCopies = 4;
  const bool parallel = devices > 1 && all_on_devices && !options.no_kv_offload;
  return parallel ? kMaxCopies : 1;
}

ByteCount llamacpp_host_inputs(const ModelSpec& model, const LlamacppBudgetOptions& options,
                               std::int64_t input_copies) {
  constexpr std::int64_t kFloatBytes = 4;
  const std::int64_t copies = options.version >= kCopiesEmbeddings ? 2 : 1;
  return options.ubatch_size * (copies * model.hidden * kFloatBytes +
                                input_copies * masked_cells(model, options) *
                                    (llamacpp_half_masks(options) ? 2 : kFloatBytes));
}

LlamacppProjector llamacpp_projector(const ModelSpec& model) {
  constexpr std::int64_t kFloatBytes = 4;
  using Family = VisionSpec::Family;
  const auto& vision = model.vision;
  if (!vision || (vision->family != Family::clip && vision->family != Family::gemma3)) return {};
  return {vision->patches * (vision->ffn + 3 * vision->hidden) * kFloatBytes,
          vision->patches * vision->patch * vision->patch * 3 * kFloatBytes};
}

}  // namespace headroom
