#pragma once
// What first, best and next fit share: a range is taken from the beginning of a hole that is long
// enough, and nothing is rounded. They differ in the hole.

#include "scheduler/kv/placement.hpp"
#include "scheduler/kv/placement_holes.hpp"

namespace headroom {

class HolePlacement : public AddressPlacement {
 public:
  explicit HolePlacement(TokenCount tokens);

  [[nodiscard]] std::optional<TokenCount> place(TokenCount length) final;
  void free(TokenCount address, TokenCount length) final;
  void pack(TokenCount taken) final;

 private:
  // A hole of at least `length` tokens; there is one.
  [[nodiscard]] virtual Holes::Index choose(const Holes& holes, TokenCount length) const = 0;
  // A range was placed that ends before `end`.
  virtual void on_placed(TokenCount /*end*/) {}

  TokenCount total_;
  Holes holes_;
};

}  // namespace headroom
