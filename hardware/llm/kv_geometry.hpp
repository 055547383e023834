#pragma once
// KV bytes and recurrent states of a model on one rank, and the block layout that an engine makes
// of them. Sizes: ENGINES.md 2.3; grouping of unlike layers: 2.4.

#include <cstdint>
#include <vector>

#include "hardware/llm/model_spec.hpp"
#include "sim/serving/kv_layout.hpp"

namespace headroom {

// The layers of a stage that keep the same thing, per rank.
struct KvClass {
  KvGroupKind kind = KvGroupKind::full;
  std::int64_t layers = 0;
  TokenCount window_tokens = 0;
  ByteCount bytes_per_token = 0;  // of one layer; 0 for a recurrent one
  ByteCount state_bytes = 0;      // of one layer and sequence, recurrent only
  std::int64_t head_dim = 0;      // layers of other heads are another class, of the same bytes too
};

// How the pool stores what the model computes.
struct KvFormat {
  Dtype dtype = Dtype::bf16;
  // Sparse MLA kept as 656 bytes per token and layer with fp8 (vLLM, FlashMLA).
  bool padded_sparse_mla = false;
};

// 2 * max(1, kv_heads / TP) * head_dim * bytes; MLA latents are replicated on every rank.
[[nodiscard]] ByteCount kv_bytes_per_token(const AttentionSpec& a, const KvFormat& kv,
                                           std::int64_t tp);
// Of one kept key: in fp8 with a 32-bit scale per 128 elements, whatever the dtype of the cache
// (DeepSeek V3.2, vLLM deepseek_v32 indexer), unless the key has a size of its own.
[[nodiscard]] ByteCount indexer_key_bytes(const IndexerSpec& indexer);
// Of one entry of DeepSeek V4 in the 8-bit format of FlashMLA: all but 64 rotary elements in 8
// bits, and a scale byte per 64 elements.
[[nodiscard]] ByteCount compressed_entry_bytes(const AttentionSpec& a);
[[nodiscard]] ByteCount state_bytes(const RecurrentSpec& r, std::int64_t tp);

[[nodiscard]] std::vector<KvClass> kv_classes(const ModelSpec& model, const KvFormat& kv,
                                              const Sharding& sharding, std::int64_t stage = 0);

// All layers of a class at full length.
[[nodiscard]] ByteCount kv_bytes_per_token(const ModelSpec& model, const KvFormat& kv,
                                           const Sharding& sharding, std::int64_t stage = 0);
[[nodiscard]] ByteCount state_bytes_per_sequence(const ModelSpec& model, const Sharding& sharding,
                                                 std::int64_t stage = 0);
// KV bytes of one sequence of `tokens` in decode, windows respected, without rounding to blocks.
[[nodiscard]] ByteCount sequence_bytes(const std::vector<KvClass>& classes, TokenCount tokens);

// As vLLM groups them: equal layers form buckets, buckets are split into groups of one size, pages
// of unlike layers are made equal by larger blocks, a recurrent state grows the attention block
// (ENGINES.md 2.3, 2.4).
struct KvGrouping {
  std::int32_t block_tokens = 16;
  double pad_below = 1.5;      // buckets within this ratio are padded to the larger (older: 1.25)
  bool hybrid_manager = true;  // off: windows are kept as full attention
};
[[nodiscard]] KvLayout grouped_kv_layout(const ModelSpec& model, const KvFormat& kv,
                                         const Sharding& sharding, std::int64_t stage,
                                         const KvGrouping& grouping);

// One pool in which every attention layer keeps every token: token-granular engines, contiguous
// reservation, engines without window support.
[[nodiscard]] KvLayout flat_kv_layout(const ModelSpec& model, const KvFormat& kv,
                                      const Sharding& sharding, std::int64_t stage,
                                      std::int32_t block_tokens);

}  // namespace headroom
