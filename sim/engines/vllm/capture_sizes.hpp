#pragma once
// Batch sizes for which vLLM captures CUDA graphs.

#include <cstdint>
#include <optional>
#include <vector>

namespace headroom {

// 1, 2, 4, 8..248 step 8, 256..max step 16 with max = `given` (max_cudagraph_capture_size), else
// min(2 * max_num_seqs, 512); none above max_num_batched_tokens.
[[nodiscard]] std::vector<std::int32_t> vllm_capture_sizes(
    std::int32_t max_num_seqs, std::int32_t max_num_batched_tokens,
    std::optional<std::int64_t> given = std::nullopt);

}  // namespace headroom
