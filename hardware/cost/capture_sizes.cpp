#include "hardware/cost/capture_sizes.hpp"

#include <algorithm>

namespace headroom {

std::int64_t padded_rows(std::int64_t rows, std::span<const std::int32_t> sizes) {
  const auto found = std::lower_bound(sizes.begin(), sizes.end(), rows);
  return found == sizes.end() ? rows : *found;
}

}  // namespace headroom
