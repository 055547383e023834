#pragma once
// Which blocks a memory of fixed size keeps, the least recently put ones being overwritten: runs of
// consecutive blocks of one text, equal, block for block, to a list of single blocks
// (tests/oracle).
//
// A run is put last block first, as a paged pool overwrites a sequence from its end; so within a
// run the last block is the oldest. Blocks of text 0 cannot be found: they only take room.

#include <cstdint>
#include <vector>

#include "scheduler/kv/block_identity.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

class BlockLru {
 public:
  explicit BlockLru(BlockCount capacity);  // >= 1

  // Makes the blocks of `run` the newest ones, last block first. What is overwritten for it is
  // appended to `spilled`, in that order.
  void put(StoredBlocks run, std::vector<StoredBlocks>& spilled);
  // How many of the blocks of `run`, from the first on and without a gap, are here.
  [[nodiscard]] BlockCount found(const StoredBlocks& run) const;
  // Removes those blocks of `run` that are here. Returns how many.
  BlockCount remove(const StoredBlocks& run);

  [[nodiscard]] BlockCount size() const { return size_; }
  [[nodiscard]] BlockCount capacity() const { return capacity_; }

 private:
  using Index = std::uint32_t;
  struct Extent {
    StoredBlocks run;
    Index older = 0;
    Index newer = 0;
    Index next_in_bucket = 0;
  };
  static constexpr Index kEnd = 0;  // sentinel: its `newer` is the oldest, its `older` the newest

  [[nodiscard]] Index extent_with(std::uint64_t text, std::int64_t block) const;
  BlockCount cut(Index index, const StoredBlocks& run);
  void append(const StoredBlocks& run);
  void spill_oldest(BlockCount blocks, std::vector<StoredBlocks>& spilled);
  void insert_after(Index older, const StoredBlocks& run);
  void erase(Index index);
  void enlarge();
  [[nodiscard]] Index& bucket(std::uint64_t text) { return buckets_[text & (buckets_.size() - 1)]; }

  BlockCount capacity_;
  BlockCount size_ = 0;
  std::vector<Extent> extents_;  // a doubly linked list
  std::vector<Index> spare_;
  std::vector<Index> buckets_;  // extents by text, chained; as many as extents or more
};

}  // namespace headroom
