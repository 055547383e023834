#include "scheduler/kv/placement_first_fit.hpp"

namespace headroom {

Holes::Index FirstFit::choose(const Holes& holes, TokenCount length) const {
  Holes::Index index = 0;
  while (holes.by_address()[index].length < length) ++index;
  return index;
}

}  // namespace headroom
