#pragma once
// Block-by-block KV pool (docs/semantics.md 7): ids, a std::list as free list, a map from
// (request, block number) to the block that holds this content. Slow and obvious on purpose.

#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "sim/serving/types.hpp"

namespace headroom::oracle {

using BlockId = std::int64_t;

class BlockPool {
 public:
  BlockPool(BlockCount total, TokenCount block_size, bool prefix_caching);

  [[nodiscard]] BlockCount total_blocks() const;
  [[nodiscard]] BlockCount free_blocks() const;    // evictable (cached) ones included
  [[nodiscard]] BlockCount cached_blocks() const;  // hashed and in the free list
  [[nodiscard]] BlockCount used_blocks() const { return total_blocks() - free_blocks(); }
  [[nodiscard]] std::vector<BlockId> blocks_of(std::uint64_t request) const;
  [[nodiscard]] std::vector<BlockId> free_list() const;  // head, the next victim, first

  // Grows `request` to ceil(tokens / block size) blocks, popped at the head of the free list.
  // All or nothing: on false nothing moved.
  [[nodiscard]] bool grow(std::uint64_t request, TokenCount tokens);

  // Tokens of the longest run of the request's own full blocks, from the first, in the free list,
  // at most floor((known - 1) / block size) blocks. The request must hold nothing.
  [[nodiscard]] TokenCount cached_prefix(std::uint64_t request, TokenCount known) const;

  // Takes the first `tokens` of that run out of the free list, wherever they stand, as the first
  // blocks of `request`, which must hold nothing.
  void touch(std::uint64_t request, TokenCount tokens);

  // Gives all blocks back, last one first: the floor(held_tokens / block size) full ones, with
  // prefix caching, to the tail, where they count as cached until popped; the others to the front.
  // Without `keep_identity` nobody can find them any more (a finished request, whose slot is
  // reused).
  void release(std::uint64_t request, TokenCount held_tokens, bool keep_identity);

  // A preempted request left the queue: its blocks stay cached but are never found again.
  void forget_request(std::uint64_t request);

 private:
  struct Block {
    bool hashed = false;
    bool findable = false;      // identity_ points here
    std::uint64_t request = 0;  // of the identity
    std::int64_t number = 0;
  };
  using Identity = std::unordered_map<std::int64_t, BlockId>;  // block number -> block

  void forget(BlockId id);  // removes the identity and the hash
  void check() const;       // every block is free or held, once

  TokenCount block_size_;
  bool prefix_caching_;
  std::vector<Block> blocks_;
  std::list<BlockId> free_;
  std::unordered_map<std::uint64_t, std::vector<BlockId>> held_;
  std::unordered_map<std::uint64_t, Identity> identity_;
};

}  // namespace headroom::oracle
