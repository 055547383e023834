#pragma once
// The shortest hole that is long enough, the lowest among equals (Knuth, TAOCP 2.5).

#include "scheduler/kv/placement_hole_fit.hpp"

namespace headroom {

class BestFit final : public HolePlacement {
 public:
  using HolePlacement::HolePlacement;

 private:
  [[nodiscard]] Holes::Index choose(const Holes& holes, TokenCount length) const override;
};

}  // namespace headroom
