#include "sim/engines/vllm/capture_sizes.hpp"

#include <algorithm>

namespace headroom {

std::vector<std::int32_t> vllm_capture_sizes(std::int32_t max_num_seqs,
                                             std::int32_t max_num_batched_tokens) {
  const std::int32_t largest = std::min(std::min(2 * max_num_seqs, 512), max_num_batched_tokens);
  std::vector<std::int32_t> sizes;
  const auto add = [&](std::int32_t size) {
    if (size <= largest) sizes.push_back(size);
  };
  for (const std::int32_t size : {1, 2, 4}) add(size);
  for (std::int32_t size = 8; size < 256; size += 8) add(size);
  for (std::int32_t size = 256; size <= 512; size += 16) add(size);
  return sizes;
}

}  // namespace headroom
