#pragma once
// Batch sizes for which an engine has captured graphs; a decode-only batch is padded to the next
// one.

#include <cstdint>
#include <span>
#include <vector>

namespace headroom {

// vLLM: 1, 2, 4, 8..248 step 8, 256..max step 16 with max = min(2 * max_num_seqs, 512), none above
// max_num_batched_tokens (ENGINES.md 4).
[[nodiscard]] std::vector<std::int32_t> vllm_capture_sizes(std::int32_t max_num_seqs,
                                                           std::int32_t max_num_batched_tokens);

// The smallest size >= rows; `rows` itself when there is none (no graph, no padding). Sizes ascend.
[[nodiscard]] std::int64_t padded_rows(std::int64_t rows, std::span<const std::int32_t> sizes);

}  // namespace headroom
