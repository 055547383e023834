#include "scheduler/kv/free_list.hpp"

#include "sim/kernel/likely.hpp"

namespace headroom {

FreeList::FreeList(BlockCount blocks, bool plain_to_front)
    : plain_to_front_(plain_to_front), plain_(blocks), extents_(1) {}

FreeList::Front FreeList::front() const {
  Front front{.plain = plain_};
  Index index = extents_[kEnd].next;
  if (index != kEnd && !extents_[index].hashed) {
    front.plain += extents_[index].blocks;
    index = extents_[index].next;
  }
  if (index != kEnd && extents_[index].hashed) front.hashed = extents_[index].blocks;
  return front;
}

void FreeList::put_plain(BlockCount blocks) {
  if (plain_to_front_) {
    plain_ += blocks;
  } else {
    put_nameless(blocks, false);
  }
}

void FreeList::put_hashed(BlockCount blocks) { put_nameless(blocks, true); }

void FreeList::put_nameless(BlockCount blocks, bool hashed) {
  if (rarely(blocks == 0)) return;
  const Index last = extents_[kEnd].previous;
  if (last == kEnd || extents_[last].owner != kNobody || extents_[last].hashed != hashed) {
    static_cast<void>(insert_after(last, {.blocks = blocks, .hashed = hashed}));
    return;
  }
  extents_[last].blocks += blocks;
  listed_ += blocks;
  if (hashed) hashed_ += blocks;
}

FreeList::Index FreeList::put_owned(BlockCount blocks, Owner owner) {
  return insert_after(extents_[kEnd].previous, {.blocks = blocks, .owner = owner});
}

FreeList::Index FreeList::split(Index index, BlockCount upper, Owner upper_owner) {
  HEADROOM_CHECK(upper > 0 && upper < extents_[index].blocks, "a split leaves two parts");
  shrink(index, upper);
  return insert_after(index, {.blocks = upper, .owner = upper_owner});
}

void FreeList::disown(Index index) {
  extents_[index].owner = kNobody;
  const Index previous = extents_[index].previous;
  const Index next = extents_[index].next;
  if (alike(index, previous)) {
    extents_[index].blocks += extents_[previous].blocks;
    unlink(previous);
  }
  if (alike(index, next)) {
    extents_[index].blocks += extents_[next].blocks;
    unlink(next);
  }
}

bool FreeList::alike(Index a, Index b) const {
  return b != kEnd && extents_[b].owner == kNobody && extents_[a].hashed == extents_[b].hashed;
}

FreeList::Index FreeList::insert_after(Index previous, const Extent& extent) {
  auto index = static_cast<Index>(extents_.size());
  if (spare_.empty()) {
    extents_.push_back(extent);
  } else {
    index = spare_.back();
    spare_.pop_back();
    extents_[index] = extent;
  }
  const Index next = extents_[previous].next;
  extents_[index].previous = previous;
  extents_[index].next = next;
  extents_[previous].next = index;
  extents_[next].previous = index;
  listed_ += extent.blocks;
  if (extent.hashed) hashed_ += extent.blocks;
  return index;
}

void FreeList::unlink(Index index) {
  const Extent& extent = extents_[index];
  extents_[extent.previous].next = extent.next;
  extents_[extent.next].previous = extent.previous;
  spare_.push_back(index);
}

}  // namespace headroom
