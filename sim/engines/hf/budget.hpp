#pragma once
// Memory of Hugging Face transformers: no server, no pool. A batch is left-padded to its longest
// prompt, and its peak decides (ENGINES.md 1.6):
//   peak(B, P, N) = context + weights + activations(B P) + logits + scores + KV(B, P + N) (1 + t)
// `t`: with DynamicCache the old and the new tensor of one layer coexist while it grows (about
// 1 / layers), and the allocator fragments. The sum is an upper bound: prefill and the end of
// decode do not coincide, but blocks that the prefill freed rarely fit the growing cache.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/budget/budget.hpp"
#include "hardware/engine_version.hpp"

namespace headroom {

inline constexpr EngineVersion kNewestHf{4, 57};

enum class HfAttention : std::uint8_t { eager, sdpa, flash_attention_2 };
enum class HfCache : std::uint8_t { dynamic, fixed };  // DynamicCache, StaticCache
// "eager", "sdpa", "flash_attention_2"; "dynamic", "static"; ConfigError.
[[nodiscard]] HfAttention parse_hf_attention(std::string_view name);
[[nodiscard]] HfCache parse_hf_cache(std::string_view name);

struct HfDefaults {
  HfAttention attn_implementation = HfAttention::sdpa;
  HfCache cache_implementation = HfCache::dynamic;
  std::int64_t max_new_tokens = 20;
};
[[nodiscard]] HfDefaults hf_generate_defaults(const DeviceSpec& device, const ModelSpec& model,
                                              EngineVersion version);

struct HfBatch {
  std::int64_t sequences = 1;
  std::int64_t prompt_tokens = 1024;  // of the longest prompt: padding counts
  std::int64_t new_tokens = 20;
};

struct HfGenerateOptions {
  EngineVersion version{4, 57};
  HfAttention attn_implementation = HfAttention::sdpa;
  HfCache cache_implementation = HfCache::dynamic;
  // DynamicCache: share of the KV lost to fragmentation; 5-20 % seen (ENGINES.md 1.6), an estimate.
  double fragmentation = 0.10;
  // One plain forward pass whose outputs stay alive, as in FACTS.md 003: 16-bit logits of all
  // positions are kept and only tensors are counted; no context, no scores, no transient.
  bool forward_only = false;
};

// Tensors that remain after a forward pass beside weights, KV and logits: 0.065 GiB reproduces the
// four measured totals of FACTS.md 003.
inline constexpr double kForwardRestGib = 0.065;

struct HfPeak {
  ByteCount context = 0;
  ByteCount weights = 0;
  ByteCount activations = 0;
  ByteCount logits = 0;
  ByteCount scores = 0;  // eager attention of one layer: 16-bit scores and their fp32 softmax
  ByteCount kv = 0;
  ByteCount transient = 0;
  [[nodiscard]] ByteCount total() const {
    return context + weights + activations + logits + scores + kv + transient;
  }
};
[[nodiscard]] HfPeak hf_peak(const BudgetInputs& inputs, const HfGenerateOptions& options,
                             const HfBatch& batch);

// Logits of a prefill: before 4.45 of every position, with an fp32 copy; from 4.45 of one
// (num_logits_to_keep, logits_to_keep since 4.49).
[[nodiscard]] ByteCount hf_logits_bytes(const ModelSpec& model, EngineVersion version,
                                        const HfBatch& batch);

// Sequences of the batch's shape that fit; 0 when not even one.
[[nodiscard]] std::int64_t hf_largest_batch(const BudgetInputs& inputs,
                                            const HfGenerateOptions& options, HfBatch batch);

// The KV pool is what `batch` leaves beside its activations, logits and scores, less the transient;
// it is not allocated at start. A batch that does not fit fails in the stage warm_up.
[[nodiscard]] MemoryBudget hf_generate_budget(const BudgetInputs& inputs,
                                              const HfGenerateOptions& options,
                                              const HfBatch& batch);

// KV pool of a plain capacity table: fraction * (total - weights), 0 when nothing is left.
// FACTS.md 003 chooses 0.85 as margin; it is no observed limit.
[[nodiscard]] ByteCount usable_fraction_pool(ByteCount total, ByteCount weights, double fraction);

[[nodiscard]] std::vector<std::string> hf_generate_budget_warnings(
    const BudgetInputs& inputs, const HfGenerateOptions& options);

}  // namespace headroom
