#pragma once
// The lowest hole that is long enough (Knuth, TAOCP 2.5, algorithm A).

#include "scheduler/kv/placement_hole_fit.hpp"

namespace headroom {

class FirstFit final : public HolePlacement {
 public:
  using HolePlacement::HolePlacement;

 private:
  [[nodiscard]] Holes::Index choose(const Holes& holes, TokenCount length) const override;
};

}  // namespace headroom
