#pragma once
// The blocks of windows in a paged pool: which of them each sequence holds, and which content they
// have (vLLM's SlidingWindowManager and HybridKVCacheCoordinator; docs/semantics.md 27).
//
// A block is known by its content and that of all before it, in each window on its own: it need not
// follow a known one. Of a prefix that was found, only the blocks that the next token attends to
// must be known. The ids of a block in all groups of a window stand together in the free list; one
// that is overwritten makes the block unknown.

#include <cstdint>
#include <vector>

#include "scheduler/kv/block_identity.hpp"
#include "scheduler/kv/free_list.hpp"
#include "sim/serving/sequence_blocks.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

class WindowBlocks {
 public:
  // Owners of extents of the free list that are blocks of windows have this bit.
  static constexpr FreeList::Owner kOwnerBit = FreeList::Owner{1} << 31U;

  struct Ids {
    BlockCount all = 0;
    BlockCount free = 0;  // without a holder
  };

  // Both must outlive it. `drops_last`: of what is found the last block is computed again, so that
  // the windows behind the block before must be known, too. Not with chunks of attention.
  WindowBlocks(const SequenceBlocks& sequence, std::int32_t block_tokens, bool drops_last,
               FreeList& free);

  [[nodiscard]] bool any() const { return !sequence_.windows().empty(); }

  // The most of the first `blocks` blocks of a request behind which every window is known.
  [[nodiscard]] BlockCount found(const Request& request, BlockCount blocks);
  // What the windows behind the first `blocks` blocks are made of; all of it must be known.
  [[nodiscard]] Ids ids_behind(const Request& request, BlockCount blocks);

  // A request holds the windows behind its first `blocks` blocks, for a step that computes up to
  // `after` tokens. The ids of other blocks are the caller's to take.
  void start(RequestId id, const Request& request, BlockCount blocks, TokenCount after);
  // What it holds of its first `blocks` blocks becomes known, up to the first private one.
  void make_known(RequestId id, const Request& request, BlockCount blocks);
  // What leaves the windows of a sequence before a step computes its tokens before .. after, and
  // how much of it is free then.
  [[nodiscard]] Ids ids_leaving(RequestId id, TokenCount before, TokenCount after);
  void advance(RequestId id, TokenCount before, TokenCount after);
  // Lets go of what a sequence of `tokens` does not hold between steps, last block first.
  void trim(RequestId id, TokenCount tokens);
  // The first block of a full window leaves a sequence that grows to `tokens`. False where none
  // does, or where it would need an id and `free` has none. The caller takes window's
  // ids_per_block.
  [[nodiscard]] bool move(RequestId id, std::size_t window, TokenCount tokens);
  // Lets go of everything, last block first. Its first `hashed` blocks become known, as above, or
  // private ones too; the others are without a hash.
  void release(RequestId id, const Request& request, TokenCount tokens, BlockCount hashed,
               bool private_too);

  // `ids` of an extent were overwritten.
  void evict(FreeList::Owner owner, BlockCount ids);
  void clear();

  // Ids with several holders, counted once for each holder but the first.
  [[nodiscard]] BlockCount shared_ids() const { return shared_ids_; }
  // Changes whenever more or less may be found.
  [[nodiscard]] std::uint64_t version() const { return version_; }

 private:
  using Index = std::uint32_t;
  static constexpr Index kNone = 0;

  struct Block {
    std::uint64_t key = 0;
    std::int32_t holders = 0;
    BlockCount ids = 0;
    FreeList::Index extent = FreeList::kNoExtent;
    Index next = kNone;  // in its bucket: of blocks with one key only the oldest is there
    Index older = kNone;
    Index younger = kNone;  // a ring with all blocks of this key
  };
  // What a sequence holds of a window: blocks from `first` on; those known by their content come
  // first. kNone: an id of a chunk of attention before what was found.
  struct Table {
    BlockCount first = 0;
    std::size_t gone = 0;  // of `known`, at its beginning
    std::vector<Index> known;

    [[nodiscard]] BlockCount end_of_known() const {
      return first + static_cast<BlockCount>(known.size() - gone);
    }
  };
  struct Part {
    StoredBlocks run;
    BlockCount first = 0;  // number of its first block in the sequence
    bool is_private = false;
  };

  [[nodiscard]] Table& table(RequestId id, std::size_t window) {
    return tables_[id * sequence_.windows().size() + window];
  }
  void follow(const Request& request, BlockCount blocks);
  [[nodiscard]] const Part& part_with(BlockCount number) const;
  [[nodiscard]] std::uint64_t key_of(std::size_t window, BlockCount number) const;
  void name(RequestId id, std::size_t window, BlockCount blocks, bool private_too);
  [[nodiscard]] BlockCount found_in(std::size_t window, BlockCount blocks) const;
  [[nodiscard]] Index block_with(std::uint64_t key) const;
  [[nodiscard]] Index known_block(std::size_t window, BlockCount number) const;
  [[nodiscard]] Index add(std::uint64_t key, BlockCount ids);
  void forget(Index index);
  void let_go(Index index, BlockCount ids);
  [[nodiscard]] bool frees(const Table& held, BlockCount at) const;
  void drop_first(Table& held, BlockCount blocks, BlockCount ids);
  [[nodiscard]] Index& bucket(std::uint64_t key) { return buckets_[key & (buckets_.size() - 1)]; }
  void enlarge();

  const SequenceBlocks& sequence_;
  std::int32_t block_tokens_;
  bool drops_last_;
  FreeList& free_;
  std::vector<Table> tables_;  // by RequestId, then by window
  std::vector<Block> blocks_;  // [0] is none
  std::vector<Index> spare_;
  std::vector<Index> buckets_;
  std::vector<Part> parts_;  // of the request that was followed last
  BlockCount shared_ids_ = 0;
  std::uint64_t version_ = 0;
};

}  // namespace headroom
