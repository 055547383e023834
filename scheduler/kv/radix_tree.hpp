#pragma once
// SGLang's radix tree (mem_cache/radix_cache.py): which text has KV blocks, whoever asks for it.
//
// A node is a run of blocks behind its parent's. Each insertion makes a leaf of all that it adds,
// so that a node may span several pieces of text; a lookup that ends inside a node splits it there.
// Requests lock the path that they read. What nobody has locked may be removed, leaf by leaf, the
// least recently used one first: a lookup and an insertion use every node that they pass, the lower
// part of one that they split included.

#include <cstdint>
#include <vector>

#include "scheduler/kv/block_identity.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

class RadixTree {
 public:
  using Index = std::uint32_t;
  static constexpr Index kRoot = 0;

  // Where a text ends in the tree, and how many of its blocks were there before.
  struct Place {
    Index node = kRoot;
    BlockCount blocks = 0;
  };

  explicit RadixTree(std::int32_t block_tokens);

  // The longest known beginning. find() uses it, and makes a node end there; peek() does neither.
  Place find(RequestBlocks text);
  [[nodiscard]] BlockCount peek(RequestBlocks text) const;
  // Enters the whole text; Place::blocks of it are the tree's already. The caller locks it.
  Place enter(RequestBlocks text);
  // The path to a node. Locks are counted.
  void lock(Index node);
  void unlock(Index node);
  // Blocks of a path that nobody has locked.
  [[nodiscard]] BlockCount unlocked(Index node) const;
  // Removes whole leaves until `blocks` of them are gone, or there is none left. Returns how many.
  BlockCount evict(BlockCount blocks);

  [[nodiscard]] BlockCount evictable() const { return evictable_; }
  // Blocks that several requests have locked, counted once for each but the first.
  [[nodiscard]] BlockCount shared() const { return shared_; }
  [[nodiscard]] bool empty() const { return nodes_.size() == spare_.size() + 1; }

 private:
  struct Node {
    Index parent = kRoot;
    std::uint32_t children = 0;
    std::uint64_t key = 0;  // of its first block
    std::int64_t last_use = 0;
    BlockCount blocks = 0;
    std::int32_t locks = 0;
    bool is_candidate = false;  // has an entry among candidates_
  };
  // A node that could be removed when its entry was made, and has been used since if last_use is
  // another.
  struct Candidate {
    std::int64_t last_use = 0;
    Index node = kRoot;
  };
  // What is left of a text: `run` first, then the others.
  struct Rest {
    RequestBlocks others;
    BlockRun run;

    [[nodiscard]] bool any() { return run.blocks > 0 || others.next(run); }
  };

  [[nodiscard]] static bool later(const Candidate& a, const Candidate& b) {
    return a.last_use > b.last_use;
  }
  [[nodiscard]] BlockCount common(Index node, Rest& rest) const;
  // Follows `rest` as far as it is known.
  Place descend(Rest& rest);
  Index add(Index parent, std::uint64_t key);
  Index split(Index node, BlockCount upper);
  void remove(Index node);
  void note_leaf(Index node);
  [[nodiscard]] Candidate pop_candidate();

  [[nodiscard]] static std::size_t hash_of(Index parent, std::uint64_t key) {
    return static_cast<std::size_t>(mixed_id(parent, key));
  }
  [[nodiscard]] Index child(Index parent, std::uint64_t key) const;
  void put(Index node);
  void take_out(Index node);

  std::int32_t block_tokens_;
  std::int64_t clock_ = 0;
  std::vector<Node> nodes_;                  // [0] is the root
  std::vector<std::vector<BlockRun>> runs_;  // by node
  std::vector<Index> spare_;
  std::vector<Index> table_;  // children: open addressing, at most half full; kRoot = empty
  // Candidates in order of their use, from first_ on, and a heap of those that came out of order.
  // Most come in order: a request that leaves has used its path then.
  std::vector<Candidate> ordered_;
  std::size_t first_ = 0;
  std::vector<Candidate> others_;
  BlockCount evictable_ = 0;
  BlockCount shared_ = 0;
};

}  // namespace headroom
