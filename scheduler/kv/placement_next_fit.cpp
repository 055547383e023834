#include "scheduler/kv/placement_next_fit.hpp"

namespace headroom {

Holes::Index NextFit::choose(const Holes& holes, TokenCount length) const {
  const Holes::Index count = holes.by_address().size();
  Holes::Index index = holes.at_or_above(last_end_);
  if (index == count) index = 0;
  while (holes.by_address()[index].length < length) index = index + 1 == count ? 0 : index + 1;
  return index;
}

}  // namespace headroom
