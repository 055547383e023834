#include "sim/engines/vllm/capture_sizes.hpp"

#include <algorithm>

namespace headroom {

std::vector<std::int32_t> vllm_capture_sizes(std::int32_t max_num_seqs,
                                             std::int32_t max_num_batched_tokens,
                                             std::optional<std::int64_t> given) {
  const std::int64_t most = given.value_or(std::min<std::int64_t>(2 * max_num_seqs, 512));
  const auto largest = std::min<std::int64_t>(most, max_num_batched_tokens);
  std::vector<std::int32_t> sizes;
  const auto add = [&](std::int32_t size) {
    if (size <= largest) sizes.push_back(size);
  };
  for (const std::int32_t size : {1, 2, 4}) add(size);
  for (std::int32_t size = 8; size < 256; size += 8) add(size);
  for (std::int32_t size = 256; size <= largest; size += 16) add(size);
  return sizes;
}

}  // namespace headroom
