#include "scheduler/kv/placement_holes.hpp"

#include <algorithm>
#include <iterator>

#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

bool is_shorter(const Hole& a, const Hole& b) {
  return a.length != b.length ? a.length < b.length : a.address < b.address;
}

}  // namespace

void Holes::reset(TokenCount address, TokenCount length) {
  by_address_.clear();
  by_length_.clear();
  if (length == 0) return;
  by_address_.push_back({address, length});
  by_length_.push_back({address, length});
}

Holes::Index Holes::shortest_of(TokenCount length) const {
  const auto found =
      std::lower_bound(by_length_.begin(), by_length_.end(), Hole{0, length}, is_shorter);
  HEADROOM_CHECK(found != by_length_.end(), "no hole is long enough");
  return at_or_above(found->address);
}

Holes::Index Holes::at_or_above(TokenCount address) const {
  const auto found =
      std::partition_point(by_address_.begin(), by_address_.end(),
                           [address](const Hole& hole) { return hole.end() <= address; });
  return static_cast<Index>(std::distance(by_address_.begin(), found));
}

TokenCount Holes::take(Index index, TokenCount length) {
  Hole& hole = by_address_[index];
  HEADROOM_CHECK(length >= 1 && length <= hole.length, "more than the hole has");
  const TokenCount address = hole.address;
  erase_length(hole);
  hole.address += length;
  hole.length -= length;
  if (hole.length > 0) {
    insert_length(hole);
  } else {
    by_address_.erase(by_address_.begin() + static_cast<std::ptrdiff_t>(index));
  }
  return address;
}

void Holes::give(Hole freed) {
  auto after = by_address_.begin() + static_cast<std::ptrdiff_t>(at_or_above(freed.address));
  HEADROOM_CHECK(after == by_address_.end() || freed.end() <= after->address, "freed twice");
  const bool joins_after = after != by_address_.end() && after->address == freed.end();
  const bool joins_before =
      after != by_address_.begin() && std::prev(after)->end() == freed.address;
  if (joins_after) {
    erase_length(*after);
    freed.length += after->length;
  }
  if (joins_before) {
    Hole& before = *std::prev(after);
    erase_length(before);
    before.length += freed.length;
    insert_length(before);
    if (joins_after) by_address_.erase(after);
    return;
  }
  insert_length(freed);
  if (joins_after) {
    *after = freed;
  } else {
    by_address_.insert(after, freed);
  }
}

void Holes::insert_length(Hole hole) {
  by_length_.insert(std::lower_bound(by_length_.begin(), by_length_.end(), hole, is_shorter), hole);
}

void Holes::erase_length(Hole hole) {
  by_length_.erase(std::lower_bound(by_length_.begin(), by_length_.end(), hole, is_shorter));
}

}  // namespace headroom
