#pragma once
// Paged KV: blocks of fixed size, taken one by one as a sequence grows (vLLM; docs/semantics.md 7).
// Requests share no content yet, so every block has one owner, and the only prefix that can be
// found again is that of a preempted request's own blocks.

#include <cstdint>
#include <vector>

#include "scheduler/kv/free_list.hpp"
#include "sim/serving/kv_allocator.hpp"

namespace headroom {

struct PagedKvOptions {
  BlockCount blocks = 0;           // usable ones (vLLM's null block is not among them), >= 1
  std::int32_t block_tokens = 16;  // >= 1
  bool enable_prefix_caching = true;
  bool reserve_final = false;  // hold prompt + max_tokens from admission on (Orca's rule)
};

class PagedKv final : public KvAllocator {
 public:
  explicit PagedKv(const PagedKvOptions& options);

  [[nodiscard]] TokenCount cached_prefix(RequestId id, const Request& request) const override;
  [[nodiscard]] bool try_grow(const KvGrowth& growth) override;
  void take(BlockCount blocks) override;
  void release(RequestId id, TokenCount held_tokens, bool keep_identity) override;

 private:
  [[nodiscard]] BlockCount blocks_for(TokenCount tokens) const;
  void update_pool();

  PagedKvOptions options_;
  FreeList free_;
  std::vector<BlockCount> held_;  // by RequestId, as of its last try_grow
};

}  // namespace headroom
