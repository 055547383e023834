#pragma once
// SGLang's pool for tests of its scheduler: a radix tree, or plain blocks without one.

#include <memory>

#include "scheduler/kv/paged.hpp"
#include "scheduler/kv/radix.hpp"

namespace headroom::test {

inline std::unique_ptr<KvAllocator> sglang_pool(const PagedKvOptions& pool) {
  if (!pool.enable_prefix_caching) return std::make_unique<PagedKv>(pool);
  return std::make_unique<RadixKv>(RadixKvOptions{.blocks = pool.blocks,
                                                  .block_tokens = pool.block_tokens,
                                                  .drops_last_match = pool.drops_last_match});
}

}  // namespace headroom::test
