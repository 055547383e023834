#pragma once
// Batch sizes for which an engine has captured graphs; a decode-only batch is padded to the next
// one.

#include <cstdint>
#include <span>

namespace headroom {

// The smallest size >= rows; `rows` itself when there is none (no graph, no padding). Sizes ascend.
[[nodiscard]] std::int64_t padded_rows(std::int64_t rows, std::span<const std::int32_t> sizes);

}  // namespace headroom
