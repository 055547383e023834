#include "sim/engines/vllm/compressed_layout.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace headroom {
namespace {

// Bytes of pages are multiples of this with the 8-bit format of FlashMLA.
constexpr ByteCount kAlignment = 576;
// Before it every slot had pages of all sizes (v1/core/kv_cache_utils.py:
// _get_kv_cache_config_deepseek_v4 to 0.23.0, _get_kv_cache_config_packed from 0.24.0).
constexpr EngineVersion kPacksPages{0, 24};
constexpr std::int32_t kWindowBlockTokens = 64;
// Of the compressors' states: every 4 tokens with an overlap, or every 128.
constexpr std::int64_t kFine = 4;
constexpr std::int64_t kCoarse = 128;
constexpr std::int32_t kFineBlockTokens = 4;
constexpr std::int32_t kCoarseBlockTokens = 8;

ByteCount aligned(ByteCount bytes, bool aligns) {
  return aligns ? (bytes + kAlignment - 1) / kAlignment * kAlignment : bytes;
}

// Layers of a stage by what they keep, and the bytes of their pages.
struct CompressedLayers {
  std::int64_t fine = 0;      // entries of 4 tokens, with the indexer's keys
  std::int64_t coarse = 0;    // entries of 128 tokens
  std::int64_t windowed = 0;  // all of them have a window of exact tokens, and so do the others
  TokenCount window_tokens = 0;
  ByteCount window_page = 0;
  ByteCount coarse_page = 0;
  ByteCount key_page = 0;
};

CompressedLayers layers_of(const ModelSpec& model, Dtype kv, const Sharding& sharding,
                           std::int64_t stage) {
  CompressedLayers made;
  const bool fp8 = kv == Dtype::fp8;
  const StageLayers range = stage_layers(model, sharding, stage);
  for (std::size_t i = range.first; i < range.last; ++i) {
    const auto& attention = model.layer(i).attention;
    if (!attention) continue;
    const AttentionSpec& a = *attention;
    const ByteCount entry = fp8 ? compressed_entry_bytes(a) : stored_bytes(kv, a.head_dim);
    ++made.windowed;
    made.window_tokens = std::max(made.window_tokens, a.window_tokens);
    made.window_page = aligned(kWindowBlockTokens * entry, fp8);
    if (a.compress_ratio == kFine) {
      ++made.fine;
      const ByteCount key = a.indexer ? indexer_key_bytes(*a.indexer) : 0;
      made.key_page = aligned(kCompressedBlockTokens / kFine * key, true);
    } else if (a.compress_ratio == kCoarse) {
      ++made.coarse;
      made.coarse_page = aligned(kCompressedBlockTokens / kCoarse * entry, fp8);
    }
  }
  return made;
}

// The number of layers per group that pads all classes least, at least `lower`; the larger of two
// that pad alike.
std::int64_t layers_per_group(std::span<const std::int64_t> classes, std::int64_t lower) {
  const std::int64_t most = *std::ranges::max_element(classes);
  std::int64_t best = lower;
  std::int64_t least = -1;
  for (std::int64_t size = lower; size <= most; ++size) {
    std::int64_t padding = 0;
    for (const std::int64_t layers : classes) padding += (size - layers % size) % size;
    if (least < 0 || padding <= least) {
      least = padding;
      best = size;
    }
  }
  return best;
}

void add_group(KvLayout& layout, std::int64_t layers, std::int32_t block, TokenCount window) {
  if (layers == 0) return;
  const auto kind = window > 0 ? KvGroupKind::sliding : KvGroupKind::full;
  layout.groups.push_back({kind, static_cast<std::int32_t>(layers), block, window});
}

}  // namespace

bool keeps_compressed(const ModelSpec& model) {
  return std::ranges::any_of(model.kinds, [](const LayerKind& kind) {
    return kind.attention && kind.attention->compress_ratio > 1;
  });
}

std::optional<CompressedLayout> vllm_compressed_layout(const ModelSpec& model, Dtype kv,
                                                       const Sharding& sharding, std::int64_t stage,
                                                       EngineVersion version) {
  const CompressedLayers layers = layers_of(model, kv, sharding, stage);
  if (layers.fine == 0 || layers.window_tokens == 0) return std::nullopt;
  const std::int64_t lower = std::max(layers.fine, layers.coarse);
  const std::array<std::int64_t, 4> classes{lower, layers.windowed, layers.fine, layers.coarse};
  const std::int64_t size =
      layers_per_group(std::span(classes).first(layers.coarse > 0 ? 4 : 3), lower);
  const std::int64_t window_groups = (layers.windowed + size - 1) / size;
  // Layers of all groups share tensors, slot by slot: a block has the most slots of each page.
  const std::int64_t wide = (layers.windowed + window_groups - 1) / window_groups;
  const std::int64_t slots = std::max(wide, lower);
  const ByteCount entries =
      layers.fine * (layers.window_page + layers.key_page) + layers.coarse * layers.coarse_page;
  CompressedLayout made;
  KvLayout& layout = made.layout;
  layout.block_tokens = kCompressedBlockTokens;
  layout.block_bytes = version < kPacksPages
                           ? slots * (layers.window_page + layers.key_page + layers.coarse_page)
                           : slots * layers.window_page + layers.fine * layers.key_page +
                                 layers.coarse * layers.coarse_page;
  layout.bytes_per_token = entries / kCompressedBlockTokens;
  made.page_bytes.push_back(entries);
  add_group(layout, layers.fine + layers.coarse, kCompressedBlockTokens, 0);
  for (std::int64_t left = layers.windowed, i = window_groups; i > 0; --i) {
    const std::int64_t part = (left + i - 1) / i;
    add_group(layout, part, kWindowBlockTokens, layers.window_tokens);
    made.page_bytes.push_back(part * layers.window_page);
    left -= part;
  }
  // A state is padded to the next larger page: of the window, and of the keys for the indexer's.
  add_group(layout, layers.fine, kFineBlockTokens, 2 * kFine);
  made.page_bytes.push_back(layers.fine * (layers.window_page + layers.key_page));
  add_group(layout, layers.coarse, kCoarseBlockTokens, kCoarse);
  if (layers.coarse > 0) made.page_bytes.push_back(layers.coarse * layers.window_page);
  return made;
}

BlockCount compressed_blocks_by_bytes(const CompressedLayout& made, TokenCount tokens,
                                      TokenCount step_tokens) {
  ByteCount bytes = 0;
  for (std::size_t i = 0; i < made.layout.groups.size(); ++i) {
    KvLayout one;
    one.groups.push_back(made.layout.groups[i]);
    bytes += one.sequence_blocks(tokens, step_tokens) * made.page_bytes[i];
  }
  return (bytes + made.page_bytes.front() - 1) / made.page_bytes.front();
}

KvLayout with_windows_as_states(const KvLayout& groups) {
  KvLayout layout = groups;
  layout.groups.resize(1);
  layout.bytes_per_token = groups.block_bytes / groups.block_tokens;
  for (const KvGroup& group : groups.groups) {
    if (group.kind != KvGroupKind::sliding) continue;
    const BlockCount held = blocks_needed(group.window_tokens, group.block_tokens) + 1;
    layout.state_bytes_per_sequence += held * groups.block_bytes;
  }
  return layout;
}

}  // namespace headroom
