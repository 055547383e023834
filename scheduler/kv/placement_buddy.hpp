#pragma once
// Binary buddy system (Knuth, TAOCP 2.5, algorithms R and S), as in the PagedAttention paper's
// emulation of Orca (ENGINES.md 1.8). Blocks are powers of two, of one token at least. A range
// takes the smallest free block that holds it, the lowest among equals, halved as long as the half
// holds it; a freed block merges with its other half. What a block has beyond its range is lost
// while the range is held. A pool that is no power of two begins as the powers of two that it is
// the sum of, largest first, which never merge: its largest block, not its size, bounds a range.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "scheduler/kv/placement.hpp"

namespace headroom {

class BuddyPlacement final : public AddressPlacement {
 public:
  explicit BuddyPlacement(TokenCount tokens);

  [[nodiscard]] std::optional<TokenCount> place(TokenCount length) override;
  void free(TokenCount address, TokenCount length) override;
  void pack(TokenCount taken) override;

 private:
  static constexpr std::size_t kOrders = 63;  // blocks of 2^0 .. 2^62 tokens

  void put(std::size_t order, TokenCount address);
  // Whether the block was free; then it no longer is.
  [[nodiscard]] bool remove(std::size_t order, TokenCount address);
  void update_largest();

  std::array<std::vector<TokenCount>, kOrders> free_;  // addresses, highest first
  std::uint64_t orders_with_free_ = 0;                 // bit k: free_[k] is not empty
};

}  // namespace headroom
