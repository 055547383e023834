#pragma once
// Memory of FasterTransformer (GPT): contiguous K and V for batch x beam x max_seq_len, a quadratic
// attention mask, fp32 logits and context buffers (ENGINES.md 1.7, ParallelGpt.cc). No sharing
// between requests; a batch keeps its buffers until all of it has ended.

#include <cstdint>
#include <string>
#include <vector>

#include "hardware/budget/budget.hpp"

namespace headroom {

enum class FtGeneration : std::uint8_t {
  configured,  // older: buffers of the configured sizes; K and V twice with beams
  per_batch    // newer: buffers of each batch's sizes; one cache and a table of beam indices
};

struct FtBatch {
  std::int64_t sequences = 1;
  std::int64_t beam_width = 1;
  std::int64_t input_tokens = 1024;  // of the longest prompt
  std::int64_t output_tokens = 1024;

  [[nodiscard]] std::int64_t sequence_tokens() const { return input_tokens + output_tokens; }
};

// Of the buffers; chosen by the user, there is no default by device. 1024 + 1024 tokens: the usual
// configuration (ENGINES.md 6.5: max_seq 1024-2048, beam 1).
struct FtDefaults {
  FtBatch batch;
};
[[nodiscard]] FtDefaults fastertransformer_defaults(const ModelSpec& model);

struct FtBudgetOptions {
  FtGeneration generation = FtGeneration::per_batch;
  FtBatch batch;  // the largest that is served
  // fp32 context-attention scores (is_context_qk_buf_float), else 16 bit.
  bool fp32_context_scores = true;
};

// Buffers of one rank of a pipeline stage.
struct FtBuffers {
  ByteCount cache = 0;         // K and V of all beams, once
  ByteCount second_cache = 0;  // the older generation's copy with beams
  ByteCount indirection = 0;   // the newer generation's beam table: two 32-bit tables
  ByteCount mask = 0;          // batch * beam * max_seq^2
  ByteCount logits = 0;        // fp32, two of batch * beam * padded vocabulary
  ByteCount context = 0;       // hidden states of the prompts, two
  ByteCount scores = 0;        // context attention of one layer
  [[nodiscard]] ByteCount total() const {
    return cache + second_cache + indirection + mask + logits + context + scores;
  }
};
[[nodiscard]] FtBuffers ft_buffers(const ModelSpec& model, const Sharding& sharding,
                                   const FtBudgetOptions& options, std::int64_t stage = 0);

// What the older generation allocates anew when a batch is larger than configured in any size: that
// batch at 1.2 times. The newer one takes the batch's own sizes.
[[nodiscard]] FtBatch ft_reallocated(const FtBudgetOptions& options, const FtBatch& wanted);

[[nodiscard]] MemoryBudget fastertransformer_budget(const BudgetInputs& inputs,
                                                    const FtBudgetOptions& options);

[[nodiscard]] std::vector<std::string> fastertransformer_budget_warnings(
    const BudgetInputs& inputs, const FtBudgetOptions& options);

}  // namespace headroom
