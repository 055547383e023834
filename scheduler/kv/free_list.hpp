#pragma once
// The free blocks of a paged pool in the order in which they will be overwritten, as extents: runs
// of blocks that were released together. Equal, block for block, to a list of single blocks
// (tests/oracle).
//
// Blocks without a hash come first (vLLM since 2026), or in their turn (`plain_to_front` false:
// vLLM up to 2025; ENGINES.md 2.1); hashed ones longest free first. An extent may have an owner,
// the tree node whose blocks they are: they stand there last one first, so that taking from the
// front overwrites the end of a sequence and leaves a prefix.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/kernel/check.hpp"
#include "sim/kernel/likely.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

class FreeList {
 public:
  using Index = std::uint32_t;
  using Owner = std::uint32_t;
  static constexpr Index kNoExtent = 0;
  static constexpr Owner kNobody = 0;

  explicit FreeList(BlockCount blocks, bool plain_to_front = true);

  [[nodiscard]] BlockCount size() const { return plain_ + listed_; }
  [[nodiscard]] BlockCount hashed() const { return hashed_; }
  // The first ones in order: those without a hash before the first hashed one, and from there on
  // hashed ones, as many as are known in O(1) to follow each other. Where those without a hash come
  // first that would be all, which needs no asking.
  struct Front {
    BlockCount plain = 0;
    BlockCount hashed = 0;
  };
  [[nodiscard]] Front front() const;

  void put_plain(BlockCount blocks);
  // Appends at the tail. An owner's extent keeps its index until its last block is gone; extents
  // without an owner are merged.
  void put_hashed(BlockCount blocks);
  [[nodiscard]] Index put_owned(BlockCount blocks, Owner owner);

  // Takes `blocks` >= 0 from the front in the common case that they have no owner and the first
  // extent is not used up: then no owner needs to know. False: another case, and nothing has
  // changed.
  [[nodiscard]] bool try_take_nameless(BlockCount blocks) {
    const BlockCount beyond_plain = blocks - plain_;
    if (beyond_plain <= 0) {
      plain_ -= blocks;
      return true;
    }
    Extent& first = extents_[extents_[kEnd].next];
    if (first.owner != kNobody || first.blocks <= beyond_plain) return false;
    plain_ = 0;
    reduce(first, beyond_plain);
    return true;
  }

  // Takes `blocks` <= size() from the front. Calls evict(owner, n) after n hashed blocks are taken,
  // with kNobody for blocks without an owner; it must not change the list.
  template <class Evict>
  void take(BlockCount blocks, const Evict& evict) {
    HEADROOM_CHECK(blocks >= 0 && blocks <= size(), "more blocks taken than are free");
    const BlockCount plain = std::min(blocks, plain_);
    plain_ -= plain;
    for (BlockCount left = blocks - plain; left > 0;) {
      const Index index = extents_[kEnd].next;
      const Owner owner = extents_[index].owner;
      const BlockCount taken = std::min(left, extents_[index].blocks);
      left -= taken;
      const bool hashed = extents_[index].hashed;
      shrink(index, taken);
      if (hashed) evict(owner, taken);
    }
  }

  // Takes a whole owned extent out of its place.
  void take_owned(Index index) { shrink(index, extents_[index].blocks); }
  // The last `upper` of an owned extent's blocks (0 < upper < all; the first ones of the sequence)
  // become an extent of another owner, in the same places.
  [[nodiscard]] Index split(Index index, BlockCount upper, Owner upper_owner);
  // The blocks of an owned extent belong to another node.
  void give(Index index, Owner owner) { extents_[index].owner = owner; }
  // Removes the owner of these blocks, which can no longer be found; they keep their places.
  void disown(Index index);

 private:
  struct Extent {
    BlockCount blocks = 0;
    Owner owner = kNobody;
    bool hashed = true;
    Index previous = 0;
    Index next = 0;
  };
  static constexpr Index kEnd = 0;  // sentinel: its `next` is the head, its `previous` the tail

  [[nodiscard]] Index insert_after(Index previous, const Extent& extent);
  void put_nameless(BlockCount blocks, bool hashed);
  void reduce(Extent& extent, BlockCount blocks) {
    extent.blocks -= blocks;
    listed_ -= blocks;
    hashed_ -= extent.hashed ? blocks : 0;
  }
  void shrink(Index index, BlockCount blocks) {
    reduce(extents_[index], blocks);
    if (extents_[index].blocks == 0) unlink(index);
  }
  void unlink(Index index);
  [[nodiscard]] bool alike(Index a, Index b) const;

  bool plain_to_front_;
  BlockCount plain_;             // at the front, before all extents
  BlockCount listed_ = 0;        // in extents
  BlockCount hashed_ = 0;        // of these
  std::vector<Extent> extents_;  // a doubly linked list
  std::vector<Index> spare_;
};

}  // namespace headroom
