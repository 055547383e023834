#include "scheduler/kv/free_list.hpp"

#include <algorithm>

#include "sim/kernel/check.hpp"

namespace headroom {

FreeList::FreeList(BlockCount blocks) : plain_(blocks), extents_(1) {}

void FreeList::put_hashed(BlockCount blocks, RequestId owner) {
  if (blocks == 0) return;
  hashed_ += blocks;
  const Index last = extents_[kEnd].previous;
  if (owner == kNoRequest && last != kEnd && extents_[last].owner == kNoRequest) {
    extents_[last].blocks += blocks;
    return;
  }
  auto index = static_cast<Index>(extents_.size());
  if (spare_.empty()) {
    extents_.emplace_back();
  } else {
    index = spare_.back();
    spare_.pop_back();
  }
  extents_[index] = {blocks, owner, last, kEnd};
  extents_[last].next = index;
  extents_[kEnd].previous = index;
  if (owner == kNoRequest) return;
  if (owner >= extent_of_.size()) extent_of_.resize(owner + 1, kEnd);
  HEADROOM_CHECK(extent_of_[owner] == kEnd, "an owner has one extent");
  extent_of_[owner] = index;
}

void FreeList::take(BlockCount blocks) {
  HEADROOM_CHECK(blocks <= size(), "more blocks taken than are free");
  const BlockCount plain = std::min(blocks, plain_);
  plain_ -= plain;
  BlockCount left = blocks - plain;
  hashed_ -= left;
  while (left > 0) {
    const Index index = extents_[kEnd].next;
    const BlockCount taken = std::min(left, extents_[index].blocks);
    extents_[index].blocks -= taken;
    left -= taken;
    if (extents_[index].blocks == 0) unlink(index);
  }
}

BlockCount FreeList::owned_by(RequestId owner) const {
  if (owner >= extent_of_.size() || extent_of_[owner] == kEnd) return 0;
  return extents_[extent_of_[owner]].blocks;
}

void FreeList::take_owned(RequestId owner, BlockCount blocks) {
  if (blocks == 0) return;
  HEADROOM_CHECK(blocks <= owned_by(owner), "more blocks reclaimed than are left");
  const Index index = extent_of_[owner];
  // What is not reclaimed keeps its place; it holds later blocks of the sequence than those taken.
  extents_[index].blocks -= blocks;
  hashed_ -= blocks;
  disown(owner);
  if (extents_[index].blocks == 0) unlink(index);
}

void FreeList::disown(RequestId owner) {
  if (owner >= extent_of_.size() || extent_of_[owner] == kEnd) return;
  extents_[extent_of_[owner]].owner = kNoRequest;
  extent_of_[owner] = kEnd;
}

void FreeList::unlink(Index index) {
  const Extent& extent = extents_[index];
  if (extent.owner != kNoRequest) extent_of_[extent.owner] = kEnd;
  extents_[extent.previous].next = extent.next;
  extents_[extent.next].previous = extent.previous;
  spare_.push_back(index);
}

}  // namespace headroom
