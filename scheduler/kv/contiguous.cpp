#include "scheduler/kv/contiguous.hpp"

#include <algorithm>

#include "sim/kernel/check.hpp"

namespace headroom {

ContiguousKv::ContiguousKv(TokenCount tokens) {
  HEADROOM_CHECK(tokens >= 1, "an empty address space");
  holes_.push_back({0, tokens});
  pool_.block_tokens = 1;
  pool_.grows_with_decode = false;
  pool_.total_blocks = pool_.free_blocks = pool_.largest_hole = tokens;
}

TokenCount ContiguousKv::cached_prefix(RequestId, const Request&) const { return 0; }

bool ContiguousKv::try_grow(const KvGrowth& growth) {
  if (growth.id >= held_.size()) held_.resize(growth.id + 1);
  if (held_[growth.id].length > 0) {
    HEADROOM_CHECK(growth.hold_tokens <= held_[growth.id].length, "growth beyond the reservation");
    return true;
  }
  const TokenCount length = growth.final_tokens;
  HEADROOM_CHECK(length >= growth.hold_tokens && length > 0, "a reservation holds the request");
  const auto hole = std::find_if(holes_.begin(), holes_.end(),
                                 [length](const Range& h) { return h.length >= length; });
  if (hole == holes_.end()) return false;
  held_[growth.id] = {hole->begin, length};
  hole->begin += length;
  hole->length -= length;
  if (hole->length == 0) holes_.erase(hole);
  pool_.free_blocks -= length;
  update_pool();
  return true;
}

void ContiguousKv::take(BlockCount) { HEADROOM_CHECK(false, "a reservation does not grow"); }

void ContiguousKv::release(RequestId id, TokenCount, bool) {
  if (id >= held_.size() || held_[id].length == 0) return;
  Range freed = held_[id];
  held_[id] = {};
  pool_.free_blocks += freed.length;
  auto after = std::lower_bound(holes_.begin(), holes_.end(), freed.begin,
                                [](const Range& h, TokenCount begin) { return h.begin < begin; });
  if (after != holes_.end() && freed.begin + freed.length == after->begin) {
    freed.length += after->length;
    after = holes_.erase(after);
  }
  if (after != holes_.begin()) {
    Range& before = *(after - 1);
    if (before.begin + before.length == freed.begin) {
      before.length += freed.length;
      return update_pool();
    }
  }
  holes_.insert(after, freed);
  update_pool();
}

void ContiguousKv::update_pool() {
  pool_.largest_hole = 0;
  for (const Range& hole : holes_) pool_.largest_hole = std::max(pool_.largest_hole, hole.length);
}

}  // namespace headroom
