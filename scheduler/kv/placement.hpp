#pragma once
// Where a range of tokens is placed in the address space of a contiguous pool. One file pair for
// each policy; docs/semantics.md 10.

#include <optional>

#include "sim/serving/types.hpp"

namespace headroom {

struct PlacementState {
  TokenCount free_tokens = 0;      // not in any range, nor lost to the rounding of one
  TokenCount largest_hole = 0;     // longest range that can be placed now
  TokenCount rounding_tokens = 0;  // taken beyond the requested size (buddy blocks)
};

class AddressPlacement {
 public:
  virtual ~AddressPlacement() = default;

  [[nodiscard]] const PlacementState& state() const { return state_; }

  // Takes `length` >= 1 tokens and returns the first of them. On none nothing changed.
  [[nodiscard]] virtual std::optional<TokenCount> place(TokenCount length) = 0;

  // Gives back what place(length) returned as `address`.
  virtual void free(TokenCount address, TokenCount length) = 0;

  // All ranges were moved down, in any order: [0, taken) is taken now, the rest is one hole.
  // Never called for a buddy pool, whose blocks cannot lie anywhere.
  virtual void pack(TokenCount taken) = 0;

 protected:
  PlacementState state_;
};

}  // namespace headroom
