#pragma once
// Which block content a paged pool knows: a radix tree whose nodes are runs of consecutive full
// blocks of one piece of text (block_identity.hpp). The path from the root is the chain of block
// hashes of ENGINES.md 2.2: a block is found only behind the blocks it followed.
//
// Invariants
//  1. A holder holds whole paths from the root. So when the last block of a content is overwritten,
//     those of all content behind it have been: they were freed before it or in the same release.
//  2. A node is held (refs > 0, no extent) or free (refs = 0, one extent of the free list).
//  3. No two children of a node begin with the same key. Where a content has several blocks the
//     node is of one block and stands for the oldest, which is the one that is found; the others
//     are its copies (block_copies.hpp). Who holds a copy is not in the node's refs.
//  4. Where a path ends inside a node the node is split; the existing index stays the lower part,
//     so that an index that a holder keeps is its deepest node for as long as it holds it.
//
// With partial reuse (TensorRT-LLM) also blocks are found that only begin as the next block of a
// prompt does. A *tip* is such a block that no prompt can find whole: partly filled, or with
// private tokens behind those that others may have. It is a leaf that nobody holds. Blocks of one
// piece are found by their place in the tree; tips and blocks across pieces under the beginnings of
// all their parts, of equal ones the block that was put there last. When that one goes, older ones
// are not looked for.

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "scheduler/kv/block_copies.hpp"
#include "scheduler/kv/block_identity.hpp"
#include "scheduler/kv/free_list.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

class PrefixTree {
 public:
  using Index = FreeList::Owner;
  static constexpr Index kRoot = 0;

  struct Match {
    std::vector<Index> nodes;  // from the root's child on; the last one perhaps in part
    BlockCount blocks = 0;
  };
  // What a request holds: of each node down to `deepest` its own block, or a copy.
  struct Path {
    Index deepest = kRoot;
    BlockCopies::Index copies = BlockCopies::kNone;  // the last one; each knows the one before
    BlockCount blocks = 0;
  };

  struct Partial {
    Index node = kRoot;
    TokenCount tokens = 0;   // that the block begins with; 0: there is none
    bool free_leaf = false;  // it has no holder and no children
  };

  struct Options {
    // Beginnings of blocks are found too: partial(), put_tip(), steal().
    bool partial_reuse = false;
    // A second tier needs end_of() and chain_at_end().
    bool keeps_chains = false;
  };

  explicit PrefixTree(std::int32_t block_tokens, const Options& options);
  explicit PrefixTree(std::int32_t block_tokens) : PrefixTree(block_tokens, Options{}) {}

  // Longest known beginning of `blocks`.
  void match(RequestBlocks blocks, Match& result) const;
  // The number of blocks without a holder among the first `blocks` blocks of a match.
  [[nodiscard]] BlockCount free_blocks(const Match& match, BlockCount blocks) const;

  // A new holder takes the first `blocks` of a match out of the free list.
  [[nodiscard]] Path hold(const Match& match, BlockCount blocks, FreeList& free);
  // The holder of `path` holds these blocks too (taken from the free list before); they become
  // known, up to the first private one unless `private_too`.
  void extend(Path& path, RequestBlocks blocks, bool private_too, FreeList& free);
  // A holder releases its path. Blocks without another holder go to the tail of the free list, last
  // block first; private nodes stay known only if they are to be found again.
  void release(const Path& path, bool forget_private, FreeList& free);
  // The block behind `deepest`, which its holder gives back, is a tip with these parts (at least
  // one). To be said before the path is released.
  void put_tip(Index deepest, std::span<const TextPart> parts, FreeList& free);
  // The block behind a match with most tokens of `wanted`, what the next block of a prompt begins
  // with; of equal ones that of one piece.
  [[nodiscard]] Partial partial(const Match& match, std::span<const TextPart> wanted) const;
  // A new holder takes such a free leaf for its own; its content is forgotten. The match in front
  // of it is held.
  void steal(Index leaf, FreeList& free);
  [[nodiscard]] bool is_tip(Index owner) const { return nodes_[node_of(owner)].is_tip; }
  // The last `blocks` of a free node, or a free copy, were overwritten.
  void evict(Index owner, BlockCount blocks, FreeList& free);
  // Forgets the private nodes without a holder at the end of a match; their blocks keep their
  // places.
  void forget_private(const Match& match, FreeList& free);

  // The last `blocks` of an owner in the free list, as a second tier knows them.
  [[nodiscard]] StoredBlocks end_of(Index owner, BlockCount blocks) const;
  // The chain before the piece of `next`, which follows the blocks of a match.
  [[nodiscard]] ChainId chain_at_end(const Match& match, const BlockRun& next) const;

  // Blocks with several holders, counted once for each holder but the first.
  [[nodiscard]] BlockCount shared_blocks() const { return shared_blocks_; }
  // Changes whenever a match or its free blocks may change.
  [[nodiscard]] std::uint64_t version() const { return version_; }
  [[nodiscard]] std::size_t nodes() const { return nodes_.size() - 1 - spare_.size(); }

 private:
  static constexpr Index kCopyBit = Index{1} << 30U;  // of an owner that is a copy

  // A line of the cache: trees of a million nodes are walked at random.
  struct alignas(64) Node {
    Index parent = kRoot;
    std::uint32_t children = 0;
    std::uint64_t key = 0;  // of the first block
    BlockRun run;
    std::uint32_t hash = 0;  // of (parent, key)
    std::int32_t refs = 0;
    FreeList::Index extent = FreeList::kNoExtent;
    bool is_tip = false;
  };

  // Of the table of children: which node, and the hash of its (parent, key), so that most steps of
  // a search need not look at the node.
  struct Entry {
    std::uint32_t hash = 0;
    Index node = kRoot;  // kRoot = empty
  };

  [[nodiscard]] Index add(Index parent, const BlockRun& run);
  void remove(Index index);
  [[nodiscard]] Index split(Index index, BlockCount upper, FreeList& free);
  [[nodiscard]] bool continues(Index index, const BlockRun& run) const;
  [[nodiscard]] bool has_copies(Index index) const {
    return copies_.oldest(index) != BlockCopies::kNone;
  }
  [[nodiscard]] Index node_of(Index owner) const {
    return (owner & kCopyBit) != 0 ? copies_[owner & ~kCopyBit].node : owner;
  }
  [[nodiscard]] Index copy(Index known, Path& path, FreeList& free);
  void succeed(Index index, FreeList& free);
  [[nodiscard]] bool let_go_of_copy(BlockCopies::Index& copies, Index index, FreeList& free);
  void forget(Index index, FreeList& free);
  [[nodiscard]] ChainId chain_after(Index index, BlockCount blocks, const BlockRun& next) const;

  // None without partial reuse.
  [[nodiscard]] std::span<const TextPart> parts_of(Index index) const {
    return options_.partial_reuse ? parts_[index] : std::span<const TextPart>();
  }
  void find_by_beginnings(Index index);
  void forget_beginnings(Index index);

  [[nodiscard]] Index child(Index parent, std::uint64_t key) const;
  void enter(Index index);
  void enter_table(std::uint32_t hash, Index index);
  void leave(Index index);
  void make_room_in_table();  // for one more

  TokenCount block_tokens_;
  Options options_;
  std::vector<Node> nodes_;                   // [0] is the root
  std::vector<ChainId> chains_;               // by node, of what precedes the piece of the run
  std::vector<std::vector<TextPart>> parts_;  // by node, of a tip and across pieces
  std::vector<Index> spare_;
  BlockCopies copies_;
  std::vector<Entry> table_;  // open addressing with linear probing, at most half full
  std::size_t entries_ = 0;
  BlockCount shared_blocks_ = 0;
  std::uint64_t version_ = 0;
  std::uint64_t tips_ = 0;                               // ever put
  std::unordered_map<std::uint64_t, Index> beginnings_;  // behind a node, up to where a part begins
};

}  // namespace headroom
