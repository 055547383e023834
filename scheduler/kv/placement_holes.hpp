#pragma once
// The free ranges of an address space, by address and by length. Neighbours merge, so there is at
// most one hole more than ranges are held. Both orders are sorted arrays: a search takes O(log n),
// a change shifts some of n entries and allocates nothing once the most holes have been seen.

#include <cstddef>
#include <span>
#include <vector>

#include "sim/serving/types.hpp"

namespace headroom {

struct Hole {
  TokenCount address = 0;
  TokenCount length = 0;
  [[nodiscard]] TokenCount end() const { return address + length; }
};

class Holes {
 public:
  using Index = std::size_t;  // into by_address(); valid until the next change

  // One hole: [address, address + length), or none if `length` is 0.
  void reset(TokenCount address, TokenCount length);

  [[nodiscard]] std::span<const Hole> by_address() const { return by_address_; }
  [[nodiscard]] TokenCount largest() const {
    return by_length_.empty() ? 0 : by_length_.back().length;
  }

  // Lowest of the shortest holes of at least `length` <= largest() tokens.
  [[nodiscard]] Index shortest_of(TokenCount length) const;
  // The hole that `address` lies in, else the next one above it; by_address().size() if none is.
  [[nodiscard]] Index at_or_above(TokenCount address) const;

  // Takes the first `length` tokens of a hole that has as many; returns their address.
  TokenCount take(Index index, TokenCount length);
  // `freed` overlaps no hole.
  void give(Hole freed);

 private:
  void insert_length(Hole hole);
  void erase_length(Hole hole);

  std::vector<Hole> by_address_;  // never adjacent to each other
  std::vector<Hole> by_length_;   // the same holes by (length, address)
};

}  // namespace headroom
