#pragma once
// KV groups of models whose attention keeps compressed entries (DeepSeek V4), as vLLM lays them out
// from 0.20 on (v1/core/kv_cache_utils.py: _get_kv_cache_groups_uniform_groups; page sizes:
// models/deepseek_v4/attention.py, compressor.py). Entries of the whole context are one group;
// windows of exact tokens and the states of compressors are groups with small blocks, so that every
// sequence holds as many blocks of them as one step's tokens and a window fill.

#include <optional>
#include <vector>

#include "hardware/engine_version.hpp"
#include "hardware/llm/kv_geometry.hpp"
#include "hardware/llm/model_spec.hpp"

namespace headroom {

// Tokens of a block of the first group; entries are kept per 256 tokens whatever the user asks.
inline constexpr std::int32_t kCompressedBlockTokens = 256;

// Whether a layer keeps one entry for several tokens.
[[nodiscard]] bool keeps_compressed(const ModelSpec& model);

struct CompressedLayout {
  KvLayout layout;
  std::vector<ByteCount> page_bytes;  // of all layers of each group
};

// The layout of `stage`; nothing where the stage holds no compressed layer.
[[nodiscard]] std::optional<CompressedLayout> vllm_compressed_layout(const ModelSpec& model,
                                                                     Dtype kv,
                                                                     const Sharding& sharding,
                                                                     std::int64_t stage,
                                                                     EngineVersion version);

// The blocks of a request as the log of capacity counted them to 0.26: by the bytes of all groups'
// layers, in pages of the first group (v1/core/kv_cache_utils.py,
// get_max_concurrency_for_kv_cache_config), though each block of any group takes one id.
[[nodiscard]] BlockCount compressed_blocks_by_bytes(const CompressedLayout& made, TokenCount tokens,
                                                    TokenCount step_tokens);

// The same pool for a run, whose allocator knows one kind of layer: blocks of the first group, and
// what a sequence holds of the others while it decodes as a state of its own.
[[nodiscard]] KvLayout with_windows_as_states(const KvLayout& groups);

}  // namespace headroom
