#pragma once
// The first hole that is long enough from where the last range was placed, beginning again at 0
// (Knuth, TAOCP 2.5, exercise 6). The search starts with the hole that the end of the last range
// lies in, or the next one above; a hole is always used from its beginning.

#include "scheduler/kv/placement_hole_fit.hpp"

namespace headroom {

class NextFit final : public HolePlacement {
 public:
  using HolePlacement::HolePlacement;

 private:
  [[nodiscard]] Holes::Index choose(const Holes& holes, TokenCount length) const override;
  void on_placed(TokenCount end) override { last_end_ = end; }

  TokenCount last_end_ = 0;
};

}  // namespace headroom
