#pragma once
// Batch sizes for which an engine has captured graphs; a decode-only batch is padded to the next
// one.

#include <cstdint>
#include <span>
#include <vector>

namespace headroom {

// Which steps run inside graphs that were captured at start-up.
struct CapturedSteps {
  std::vector<std::int32_t> decode_sizes;  // ascending; a decode batch is padded to the next one
  std::int64_t largest_mixed = 0;          // tokens of a step that holds prompts; 0: never
};

// The smallest size >= rows; `rows` itself when there is none (no graph, no padding). Sizes ascend.
[[nodiscard]] std::int64_t padded_rows(std::int64_t rows, std::span<const std::int32_t> sizes);

}  // namespace headroom
