#include "scheduler/kv/placement_buddy.hpp"

#include <algorithm>
#include <bit>
#include <functional>

#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

constexpr TokenCount size_of(std::size_t order) { return TokenCount{1} << order; }

// Of the smallest block that holds `length` >= 1 tokens.
std::size_t order_for(TokenCount length) {
  return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(length - 1)));
}

}  // namespace

BuddyPlacement::BuddyPlacement(TokenCount tokens) {
  TokenCount address = 0;
  for (std::size_t order = kOrders; order-- > 0;) {
    if ((tokens & size_of(order)) == 0) continue;
    put(order, address);
    address += size_of(order);
  }
  state_.free_tokens = tokens;
  update_largest();
}

std::optional<TokenCount> BuddyPlacement::place(TokenCount length) {
  if (length > state_.largest_hole) return std::nullopt;
  const std::size_t wanted = order_for(length);
  auto order = static_cast<std::size_t>(std::countr_zero(orders_with_free_ >> wanted)) + wanted;
  const TokenCount address = free_[order].back();
  HEADROOM_CHECK(remove(order, address), "a block of a list of free blocks is free");
  while (order > wanted) {
    --order;
    put(order, address + size_of(order));
  }
  state_.free_tokens -= size_of(wanted);
  state_.rounding_tokens += size_of(wanted) - length;
  update_largest();
  return address;
}

void BuddyPlacement::free(TokenCount address, TokenCount length) {
  std::size_t order = order_for(length);
  state_.free_tokens += size_of(order);
  state_.rounding_tokens -= size_of(order) - length;
  // Never merges two initial blocks, nor looks beyond the pool in vain: the address of an initial
  // block is a sum of larger powers of two, so its other half would lie above it, where all
  // blocks are smaller.
  while (remove(order, address ^ size_of(order))) {
    address &= ~size_of(order);
    ++order;
  }
  put(order, address);
  update_largest();
}

void BuddyPlacement::pack(TokenCount) { HEADROOM_CHECK(false, "buddy blocks cannot be moved"); }

void BuddyPlacement::put(std::size_t order, TokenCount address) {
  std::vector<TokenCount>& blocks = free_[order];
  const auto at = std::lower_bound(blocks.begin(), blocks.end(), address, std::greater<>());
  HEADROOM_CHECK(at == blocks.end() || *at != address, "freed twice");
  blocks.insert(at, address);
  orders_with_free_ |= std::uint64_t{1} << order;
}

bool BuddyPlacement::remove(std::size_t order, TokenCount address) {
  std::vector<TokenCount>& blocks = free_[order];
  const auto at = std::lower_bound(blocks.begin(), blocks.end(), address, std::greater<>());
  if (at == blocks.end() || *at != address) return false;
  blocks.erase(at);
  if (blocks.empty()) orders_with_free_ &= ~(std::uint64_t{1} << order);
  return true;
}

void BuddyPlacement::update_largest() {
  const auto orders = static_cast<std::size_t>(std::bit_width(orders_with_free_));
  state_.largest_hole = orders == 0 ? 0 : size_of(orders - 1);
}

}  // namespace headroom
