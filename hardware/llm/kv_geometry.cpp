#include "hardware/llm/kv_geometry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "hardware/llm/parameters.hpp"
#include "sim/kernel/check.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {

ByteCount indexer_key_bytes(const IndexerSpec& indexer) {
  if (indexer.key_bytes > 0) return indexer.key_bytes;
  return indexer.head_dim + 4 * ((indexer.head_dim + 127) / 128);
}

ByteCount compressed_entry_bytes(const AttentionSpec& a) {
  return a.head_dim + 64 + a.head_dim / 64;
}

namespace {

ByteCount indexer_bytes(const IndexerSpec& indexer) {
  if (indexer.shared) return 0;
  return (indexer_key_bytes(indexer) + indexer.tokens_per_key - 1) / indexer.tokens_per_key;
}

// DeepSeek V4: what a compressor keeps of the tokens that have not become an entry yet, per
// sequence: a value and a score in 32 bit for each of the tokens that one entry is made of. Blocks
// of 4 overlap: both are twice as wide and reach over two blocks (vLLM
// models/deepseek_v4/compressor.py; SGLang mem_cache/deepseek_v4_memory_pool.py keeps as many).
ByteCount compressor_state_bytes(const AttentionSpec& a) {
  const std::int64_t overlap = a.compress_ratio == 4 ? 2 : 1;
  const std::int64_t width = a.head_dim + (a.indexer ? a.indexer->head_dim : 0);
  return overlap * a.compress_ratio * 2 * overlap * width * 4;
}

// DeepSeek V4 with fp8: all but the rotary part in 8 bit, a scale byte per 64 elements.
constexpr std::int64_t kCompressedRotary = 64;

ByteCount entry_bytes(const AttentionSpec& a, const KvFormat& kv) {
  if (kv.dtype != Dtype::fp8) return stored_bytes(kv.dtype, a.head_dim);
  return a.head_dim + kCompressedRotary + a.head_dim / 64;
}

void add_class(std::vector<KvClass>& classes, const KvClass& added) {
  const auto same = std::ranges::find_if(classes, [&](const KvClass& c) {
    return c.kind == added.kind && c.window_tokens == added.window_tokens &&
           c.bytes_per_token == added.bytes_per_token && c.state_bytes == added.state_bytes &&
           c.head_dim == added.head_dim;
  });
  if (same == classes.end()) {
    classes.push_back(added);
  } else {
    same->layers += added.layers;
  }
}

void add_attention(std::vector<KvClass>& classes, const AttentionSpec& a, const KvFormat& kv,
                   std::int64_t tp, std::int64_t layers) {
  if (a.shares_kv) return;
  KvClass made;
  made.layers = layers;
  made.bytes_per_token = kv_bytes_per_token(a, kv, tp);
  made.head_dim = a.head_dim;
  if (a.compress_ratio > 1) {
    // Compressed entries of the whole context beside a window of exact ones.
    KvClass window = made;
    window.kind = KvGroupKind::sliding;
    window.window_tokens = a.window_tokens;
    window.bytes_per_token = entry_bytes(a, kv);
    add_class(classes, window);
    KvClass state;
    state.kind = KvGroupKind::recurrent;
    state.layers = layers;
    state.state_bytes = compressor_state_bytes(a);
    add_class(classes, state);
  } else if (a.window_tokens > 0) {
    made.kind = a.chunked ? KvGroupKind::chunked : KvGroupKind::sliding;
    made.window_tokens = a.window_tokens;
  }
  add_class(classes, made);
}

std::int64_t sum_layers(const std::vector<KvClass>& classes) {
  return std::accumulate(classes.begin(), classes.end(), std::int64_t{0},
                         [](std::int64_t n, const KvClass& c) { return n + c.layers; });
}

// Full layers of different sizes in one group, windows and states charged per sequence: the last
// resort when pages cannot be made equal.
KvLayout merged_layout(const std::vector<KvClass>& classes, std::int32_t block_tokens) {
  ByteCount per_token = 0;
  ByteCount per_sequence = 0;
  for (const KvClass& c : classes) {
    if (c.kind == KvGroupKind::full) per_token += c.layers * c.bytes_per_token;
    if (c.kind == KvGroupKind::recurrent) per_sequence += c.layers * c.state_bytes;
    if (c.window_tokens > 0) per_sequence += c.layers * c.window_tokens * c.bytes_per_token;
  }
  KvLayout layout =
      uniform_layout(static_cast<std::int32_t>(sum_layers(classes)), per_token, block_tokens);
  layout.state_bytes_per_sequence = per_sequence;
  return layout;
}

bool all_full(const std::vector<KvClass>& classes) {
  return std::ranges::all_of(classes, [](const KvClass& c) { return c.kind == KvGroupKind::full; });
}

// Block sizes that make the page of every class the same, or empty when no whole sizes do.
struct Pages {
  ByteCount page_bytes = 0;
  std::vector<std::int32_t> block_tokens;  // per class
};

Pages equal_pages(const std::vector<KvClass>& classes, std::int32_t block_tokens) {
  ByteCount state = 0;
  ByteCount smallest = std::numeric_limits<ByteCount>::max();
  for (const KvClass& c : classes) {
    state = std::max(state, c.state_bytes);
    if (c.kind != KvGroupKind::recurrent) smallest = std::min(smallest, c.bytes_per_token);
  }
  Pages pages;
  std::int64_t block = block_tokens;
  if (smallest == std::numeric_limits<ByteCount>::max()) {  // no attention at all
    pages.page_bytes = state;
    smallest = 0;
  } else if (state > 0) {  // in steps of 16 tokens, the kernels' alignment
    const ByteCount step = 16 * smallest;
    block = std::max(block, 16 * ((state + step - 1) / step));
  }
  for (const KvClass& c : classes) {
    pages.page_bytes = std::max(pages.page_bytes, c.bytes_per_token * block);
  }
  for (const KvClass& c : classes) {
    if (c.kind == KvGroupKind::recurrent) {
      pages.block_tokens.push_back(static_cast<std::int32_t>(block));
      continue;
    }
    if (pages.page_bytes % c.bytes_per_token != 0) return {};
    pages.block_tokens.push_back(static_cast<std::int32_t>(pages.page_bytes / c.bytes_per_token));
  }
  return pages;
}

std::int64_t group_size_of(const std::vector<KvClass>& classes, double pad_below) {
  std::int64_t least = classes.front().layers;
  std::int64_t most = least;
  for (const KvClass& c : classes) {
    least = std::min(least, c.layers);
    most = std::max(most, c.layers);
  }
  return static_cast<double>(most) < pad_below * static_cast<double>(least) ? most : least;
}

}  // namespace

ByteCount kv_bytes_per_token(const AttentionSpec& a, const KvFormat& kv, std::int64_t tp) {
  if (a.shares_kv) return 0;
  ByteCount bytes = 0;
  if (a.mla) {
    const std::int64_t latent = a.mla->kv_lora_rank + a.mla->qk_rope;
    const bool sparse_fp8 = kv.padded_sparse_mla && a.indexer && kv.dtype == Dtype::fp8;
    // 8-bit latents, a 32-bit scale per 128 of them, the rotary part in 16 bit.
    bytes = sparse_fp8 ? a.mla->kv_lora_rank + a.mla->kv_lora_rank / 32 + 2 * a.mla->qk_rope
                       : stored_bytes(kv.dtype, latent);
  } else if (a.compress_ratio > 1) {
    const ByteCount entry =
        entry_bytes(a, kv) + (a.indexer ? indexer_bytes(*a.indexer) : ByteCount{0});
    return (entry + a.compress_ratio - 1) / a.compress_ratio;
  } else {
    const std::int64_t kept = a.head_dim + (a.keeps_values ? a.v_head_dim : 0);
    bytes = stored_bytes(kv.dtype, kv_heads_per_rank(a, tp) * kept);
  }
  return a.indexer ? bytes + indexer_bytes(*a.indexer) : bytes;
}

ByteCount state_bytes(const RecurrentSpec& r, std::int64_t tp) {
  using Family = RecurrentSpec::Family;
  const std::int64_t value_heads = std::max<std::int64_t>(1, r.value_heads / tp);
  const std::int64_t key_heads = std::max<std::int64_t>(1, r.key_heads / tp);
  const std::int64_t value = value_heads * r.value_head_dim;
  const std::int64_t key = key_heads * r.key_head_dim;
  const bool value_only = r.family == Family::mamba1 || r.family == Family::short_convolution;
  const std::int64_t kernel = std::max<std::int64_t>(1, r.conv_kernel);  // 0: no convolution
  const std::int64_t conv = (value_only ? value : value + 2 * key) * (kernel - 1);
  std::int64_t state = value * r.key_head_dim;
  if (r.family == Family::short_convolution) state = 0;
  return stored_bytes(r.conv_dtype, conv) + stored_bytes(r.state_dtype, state);
}

std::vector<KvClass> kv_classes(const ModelSpec& model, const KvFormat& kv,
                                const Sharding& sharding, std::int64_t stage) {
  const StageLayers range = stage_layers(model, sharding, stage);
  std::vector<std::int64_t> layers(model.kinds.size(), 0);
  for (std::size_t i = range.first; i < range.last; ++i) ++layers[model.order[i]];
  std::vector<KvClass> classes;
  for (std::size_t k = 0; k < model.kinds.size(); ++k) {
    const LayerKind& kind = model.kinds[k];
    if (layers[k] == 0) continue;
    if (kind.attention) add_attention(classes, *kind.attention, kv, sharding.tensor, layers[k]);
    if (kind.recurrent) {
      KvClass made;
      made.kind = KvGroupKind::recurrent;
      made.layers = layers[k];
      made.state_bytes = state_bytes(*kind.recurrent, sharding.tensor);
      add_class(classes, made);
    }
  }
  // Full attention first: its block is the one that a scheduler counts in.
  std::ranges::stable_sort(classes, {}, &KvClass::kind);
  return classes;
}

ByteCount kv_bytes_per_token(const ModelSpec& model, const KvFormat& kv, const Sharding& sharding,
                             std::int64_t stage) {
  ByteCount bytes = 0;
  for (const KvClass& c : kv_classes(model, kv, sharding, stage)) {
    bytes += c.layers * c.bytes_per_token;
  }
  return bytes;
}

ByteCount state_bytes_per_sequence(const ModelSpec& model, const Sharding& sharding,
                                   std::int64_t stage) {
  ByteCount bytes = 0;
  for (const KvClass& c : kv_classes(model, {}, sharding, stage)) bytes += c.layers * c.state_bytes;
  return bytes;
}

ByteCount sequence_bytes(const std::vector<KvClass>& classes, TokenCount tokens) {
  ByteCount bytes = 0;
  for (const KvClass& c : classes) {
    const TokenCount kept = c.window_tokens > 0 ? std::min(tokens, c.window_tokens) : tokens;
    bytes += c.layers * (kept * c.bytes_per_token + c.state_bytes);
  }
  return bytes;
}

KvLayout flat_kv_layout(const ModelSpec& model, const KvFormat& kv, const Sharding& sharding,
                        std::int64_t stage, std::int32_t block_tokens) {
  const std::vector<KvClass> classes = kv_classes(model, kv, sharding, stage);
  ByteCount bytes = 0;
  for (const KvClass& c : classes) bytes += c.layers * c.bytes_per_token;
  KvLayout layout =
      uniform_layout(static_cast<std::int32_t>(sum_layers(classes)), bytes, block_tokens);
  layout.state_bytes_per_sequence = state_bytes_per_sequence(model, sharding, stage);
  return layout;
}

KvLayout grouped_kv_layout(const ModelSpec& model, const KvFormat& kv, const Sharding& sharding,
                           std::int64_t stage, const KvGrouping& grouping) {
  std::vector<KvClass> classes = kv_classes(model, kv, sharding, stage);
  if (classes.empty()) {
    throw ConfigError(
        fmt::format("pipeline_parallel_size {}: stage {} of {} has no layer with KV "
                    "or states, which is not modelled; fewer stages",
                    sharding.pipeline, stage, model.id));
  }
  // One window of all layers is not a hybrid (vLLM: v1/core/kv_cache_utils.py,
  // unify_hybrid_kv_cache_specs).
  if (!grouping.hybrid_manager && classes.size() > 1) {
    for (KvClass& c : classes) {
      if (c.window_tokens > 0) c = {KvGroupKind::full, c.layers, 0, c.bytes_per_token, 0};
    }
  }
  const bool compressed = std::ranges::any_of(model.kinds, [](const LayerKind& kind) {
    return kind.attention && kind.attention->compress_ratio > 1;
  });
  if (all_full(classes) || compressed) return merged_layout(classes, grouping.block_tokens);

  const Pages pages = equal_pages(classes, grouping.block_tokens);
  if (pages.block_tokens.empty()) return merged_layout(classes, grouping.block_tokens);
  const std::int64_t size = group_size_of(classes, grouping.pad_below);
  KvLayout layout;
  layout.block_tokens = pages.block_tokens.front();
  layout.block_bytes = size * pages.page_bytes;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const KvClass& c = classes[i];
    layout.bytes_per_token += c.layers * c.bytes_per_token;
    layout.state_bytes_per_sequence += c.layers * c.state_bytes;
    for (std::int64_t left = c.layers; left > 0; left -= size) {
      layout.groups.push_back({c.kind, static_cast<std::int32_t>(std::min(left, size)),
                               pages.block_tokens[i], c.window_tokens});
    }
  }
  return layout;
}

}  // namespace headroom
