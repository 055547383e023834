#include "scheduler/kv/placement_best_fit.hpp"

namespace headroom {

Holes::Index BestFit::choose(const Holes& holes, TokenCount length) const {
  return holes.shortest_of(length);
}

}  // namespace headroom
