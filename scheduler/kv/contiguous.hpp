#pragma once
// Contiguous KV: each request reserves one range of an address space for all it may ever need
// (Orca, FasterTransformer; docs/semantics.md 10). First fit by address; free neighbours merge.
// Fragmentation is what the placement leaves behind, not an assumption.

#include <cstdint>
#include <vector>

#include "sim/serving/kv_allocator.hpp"

namespace headroom {

class ContiguousKv final : public KvAllocator {
 public:
  explicit ContiguousKv(TokenCount tokens);

  // Nothing is shared: always 0.
  [[nodiscard]] TokenCount cached_prefix(RequestId id, const Request& request) const override;
  // Reserves growth.final_tokens at the first call for a request; later calls always succeed.
  [[nodiscard]] bool try_grow(const KvGrowth& growth) override;
  // Never called: nothing grows with decode.
  void take(BlockCount blocks) override;
  void release(RequestId id, TokenCount held_tokens, bool keep_identity) override;

 private:
  struct Range {
    TokenCount begin = 0;
    TokenCount length = 0;
  };
  void update_pool();

  std::vector<Range> holes_;  // by address, never adjacent
  std::vector<Range> held_;   // by RequestId; length 0 = nothing
};

}  // namespace headroom
