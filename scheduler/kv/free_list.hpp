#pragma once
// The free blocks of a paged pool in the order in which they will be taken: first those whose
// content nobody can find (never hashed), then the hashed ones, longest free first, as extents:
// runs of blocks that were released together. Equal, block for block, to a list of single blocks
// (tests/oracle).
//
// An extent may be owned by one request: then it holds that request's blocks count-1 .. 0 in this
// order, so that taking from the front overwrites the end of the sequence first and a prefix
// remains.

#include <cstdint>
#include <vector>

#include "sim/serving/types.hpp"

namespace headroom {

class FreeList {
 public:
  explicit FreeList(BlockCount blocks);

  [[nodiscard]] BlockCount size() const { return plain_ + hashed_; }
  [[nodiscard]] BlockCount hashed() const { return hashed_; }

  // Blocks without a hash go to the front, hashed ones to the tail. An owner has at most one
  // extent.
  void put_plain(BlockCount blocks) { plain_ += blocks; }
  void put_hashed(BlockCount blocks, RequestId owner = kNoRequest);

  // Takes `blocks` <= size() from the front.
  void take(BlockCount blocks);

  // Blocks that `owner` could still find, and taking the first `blocks` of them out of their place.
  [[nodiscard]] BlockCount owned_by(RequestId owner) const;
  void take_owned(RequestId owner, BlockCount blocks);
  // The owner will not come back: its blocks stay hashed, but nobody can find them.
  void disown(RequestId owner);

 private:
  using Index = std::uint32_t;
  struct Extent {
    BlockCount blocks = 0;
    RequestId owner = kNoRequest;
    Index previous = 0;
    Index next = 0;
  };
  static constexpr Index kEnd = 0;  // sentinel: its `next` is the head, its `previous` the tail

  void unlink(Index index);

  BlockCount plain_;
  BlockCount hashed_ = 0;
  std::vector<Extent> extents_;  // a doubly linked list
  std::vector<Index> spare_;
  std::vector<Index> extent_of_;  // by RequestId; kEnd = none
};

}  // namespace headroom
