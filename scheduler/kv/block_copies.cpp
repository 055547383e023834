#include "scheduler/kv/block_copies.hpp"

namespace headroom {

BlockCopies::Index BlockCopies::add(Node node, Index above) {
  auto copy = static_cast<Index>(copies_.size());
  if (spare_.empty()) {
    copies_.emplace_back();
    neighbours_.emplace_back();
  } else {
    copy = spare_.back();
    spare_.pop_back();
  }
  copies_[copy] = {.node = node, .above = above};
  if (node >= oldest_.size()) oldest_.resize(node + 1, kNone);
  if (oldest_[node] == kNone) {
    oldest_[node] = copy;
    neighbours_[copy] = {copy, copy};
    return copy;
  }
  const Index first = oldest_[node];
  const Index last = neighbours_[first].older;
  neighbours_[copy] = {.older = last, .younger = first};
  neighbours_[last].younger = copy;
  neighbours_[first].older = copy;
  return copy;
}

void BlockCopies::leave_node(Index copy) {
  const auto [older, younger] = neighbours_[copy];
  neighbours_[older].younger = younger;
  neighbours_[younger].older = older;
  Index& oldest = oldest_[copies_[copy].node];
  if (oldest == copy) oldest = younger == copy ? kNone : younger;
}

}  // namespace headroom
