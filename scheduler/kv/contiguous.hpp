#pragma once
// Contiguous KV: each request reserves one range of an address space for all it may ever need
// (Orca, FasterTransformer; docs/semantics.md 10). Fragmentation is what the placement leaves
// behind, not an assumption. A buddy pool counts whole blocks as used.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/kv/placement.hpp"
#include "sim/serving/kv_allocator.hpp"

namespace headroom {

enum class Placement : std::uint8_t { first_fit, best_fit, next_fit, buddy };

// As scenarios give them.
struct ContiguousOptions {
  std::string kv_placement = "first_fit";
  bool kv_compaction = false;
};

struct ContiguousKvOptions {
  TokenCount tokens = 0;  // >= 1
  Placement placement = Placement::first_fit;
  // When a reservation fits no hole but free tokens suffice, all ranges are moved down, keeping
  // their order, so that the largest hole is all that is free. Not with buddy.
  bool compaction = false;
};

class ContiguousKv final : public KvAllocator {
 public:
  explicit ContiguousKv(const ContiguousKvOptions& options);
  explicit ContiguousKv(TokenCount tokens) : ContiguousKv(ContiguousKvOptions{.tokens = tokens}) {}

  // Nothing is shared: always 0.
  [[nodiscard]] TokenCount cached_prefix(RequestId id, const Request& request) const override;
  // Reserves growth.final_tokens at the first call for a request; later calls always succeed.
  [[nodiscard]] bool try_grow(const KvGrowth& growth) override;
  // Never called: nothing grows with decode.
  void take(BlockCount blocks) override;
  void release(RequestId id, const Request& request, TokenCount held_tokens, KvRelease how,
               TokenCount unnamed_tokens = 0) override;
  void on_engine_lost() override;

  // Where the reservation of `id` begins; none if it has none.
  [[nodiscard]] std::optional<TokenCount> address_of(RequestId id) const;
  // Used tokens that no reservation asked for (buddy blocks).
  [[nodiscard]] TokenCount rounding_tokens() const { return placement_->state().rounding_tokens; }

 private:
  struct Range {
    TokenCount begin = 0;
    TokenCount length = 0;
  };
  // Moves whole reservations: an upper bound, since what is not written yet need not be copied, but
  // the pool does not know how much that is.
  void compact();
  void update_pool();

  ContiguousKvOptions options_;
  std::unique_ptr<AddressPlacement> placement_;
  std::vector<Range> held_;         // by RequestId; length 0 = nothing
  std::vector<RequestId> to_pack_;  // of compact()
};

}  // namespace headroom
