#pragma once
// Block-by-block KV pool (docs/semantics.md 7; ENGINES.md 2.1, 2.2): ids, reference counts, a
// std::list as free list, and a map from content to the blocks that have it, the oldest first. The
// content of a block is every token from the start of its sequence to its end. Slow and obvious on
// purpose.

#include <compare>
#include <cstdint>
#include <list>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/serving/kv_allocator.hpp"
#include "sim/serving/types.hpp"

namespace headroom::oracle {

using BlockId = std::int64_t;

// A token as far as it can be told from others: the position `offset` of a text.
struct Token {
  bool is_private = false;  // of a text that only the request numbered `text` has
  std::uint64_t text = 0;
  std::int64_t offset = 0;
  std::int32_t adapter = 0;  // that its KV is made with
  auto operator<=>(const Token&) const = default;
};

// The memories behind a pool, block by block: each a std::list of contents, oldest first.
class NaiveTier {
 public:
  NaiveTier(std::size_t host_blocks, std::size_t disk_blocks, bool write_through = false)
      : host_blocks_(host_blocks), disk_blocks_(disk_blocks), write_through_(write_through) {}

  [[nodiscard]] bool writes_through() const { return write_through_; }
  void write(const std::vector<std::int64_t>& contents);  // as soon as they are full
  void store(std::int64_t content);  // when it is overwritten; 0: nobody knows what it is
  [[nodiscard]] bool has(std::int64_t content) const;
  void load(const std::vector<std::int64_t>& contents);

  KvTierCounts counts;

 private:
  [[nodiscard]] bool on_host(std::int64_t content) const;
  void put(std::int64_t content);
  void take_out(std::int64_t content);
  int renew(const std::vector<std::int64_t>& contents);  // how many were not on the host

  std::size_t host_blocks_;
  std::size_t disk_blocks_;
  bool write_through_;
  std::list<std::int64_t> host_;
  std::list<std::int64_t> disk_;
};

// Whether blocks that only begin as the next one of a prompt are reused, and how.
enum class PartialReuse : std::uint8_t { off, free_leaves, copies };

class BlockPool {
 public:
  BlockPool(BlockCount total, TokenCount block_size, bool prefix_caching,
            bool plain_to_front = true, NaiveTier* tier = nullptr,
            PartialReuse partial = PartialReuse::off);

  [[nodiscard]] BlockCount total_blocks() const;
  [[nodiscard]] BlockCount free_blocks() const;    // evictable (cached) ones included
  [[nodiscard]] BlockCount cached_blocks() const;  // hashed and in the free list
  [[nodiscard]] BlockCount shared_blocks() const;  // once for each holder but the first
  [[nodiscard]] BlockCount used_blocks() const { return total_blocks() - free_blocks(); }
  [[nodiscard]] std::vector<BlockId> blocks_of(std::uint64_t request) const;
  [[nodiscard]] std::vector<BlockId> free_list() const;  // head, the next victim, first

  // The sequence of `request` begins with these tokens; every other one is private. To be said
  // before anything else about it.
  void introduce(std::uint64_t request, std::vector<Token> beginning);

  // Grows `request` to ceil(tokens / block size) blocks, popped at the head of the free list.
  // All or nothing: on false nothing moved. Full blocks among its first `known` tokens can be found
  // from now on.
  [[nodiscard]] bool grow(std::uint64_t request, TokenCount tokens, TokenCount known = 0);

  // Tokens of the longest run of full blocks of this sequence, from the first, that can be found,
  // at most floor((known - 1) / block size) blocks. The request must hold nothing.
  [[nodiscard]] TokenCount cached_prefix(std::uint64_t request, TokenCount known) const;
  // The same with the tier behind it: where the pool's run ends the tier's goes on.
  [[nodiscard]] TokenCount prefix_with_tier(std::uint64_t request, TokenCount known) const;
  // Takes the blocks of these tokens out of the tier; `grow` gives them new ones.
  void load(std::uint64_t request, TokenCount from, TokenCount to);
  // Of the blocks of the first `tokens` of that run, those in the free list.
  [[nodiscard]] BlockCount free_among(std::uint64_t request, TokenCount tokens) const;

  // Makes the first `tokens` of that run the first blocks of `request`, which must hold nothing;
  // those in the free list leave it, wherever they stand.
  void touch(std::uint64_t request, TokenCount tokens);

  // Tokens that the block behind that run and another one begin with, at most to the last known
  // token but one. Only behind what the pool itself found.
  [[nodiscard]] TokenCount beginning(std::uint64_t request, TokenCount known) const;
  // Takes the block over, as the next one of `request`, if nobody holds it and nothing findable
  // follows it; else it is to be copied: false.
  bool take_over(std::uint64_t request, TokenCount known);

  // Gives all blocks back, last one first. What nobody else holds goes, with prefix caching, to the
  // tail as far as its content is known (floor(named_tokens / block size) blocks, at least those
  // that `grow` made findable; `dropped`: these only), where it counts as cached until popped; the
  // others go to the front, or with plain_to_front off to the tail too. After `finished` nobody
  // finds what is private.
  void release(std::uint64_t request, TokenCount named_tokens, KvRelease how);

  // A preempted request left the queue: its private blocks stay cached but are never found again.
  void forget_request(std::uint64_t request);

 private:
  using ContentId = std::int64_t;  // 0 = the empty sequence
  struct Content {
    ContentId parent = 0;
    std::vector<Token> tokens;
    auto operator<=>(const Content&) const = default;
  };
  struct Block {
    int holders = 0;
    bool hashed = false;
    ContentId content = 0;  // if hashed
    // What it is found by that begins alike; empty: by nothing.
    ContentId parent = 0;
    std::vector<Token> begins;
  };
  using Beginning = std::pair<ContentId, std::vector<Token>>;  // behind a content
  // What is found by its beginning: a content, or a block that nobody finds whole.
  using Way = std::pair<ContentId, BlockId>;
  struct Sequence {
    std::vector<Token> beginning;
    std::vector<BlockId> held;
    BlockCount findable = 0;       // of these, the first ones, which are in `found_`
    BlockCount known = 0;          // full blocks of tokens known when it last grew
    BlockCount written = 0;        // to a tier that is written through
    std::vector<ContentId> chain;  // content of its full blocks, as far as anybody asked
  };

  [[nodiscard]] Block& block(BlockId id) { return blocks_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const Block& block(BlockId id) const {
    return blocks_[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] Sequence& sequence(std::uint64_t request) const { return sequences_[request]; }
  [[nodiscard]] ContentId content(std::uint64_t request, BlockCount number) const;
  // The oldest block with the content of block `number` of the sequence; -1 = none.
  [[nodiscard]] BlockId found(std::uint64_t request, BlockCount number) const;
  void make_findable(std::uint64_t request, BlockCount full);
  [[nodiscard]] BlockId at_the_end_of(const Way& way) const;
  void write_through(std::uint64_t request, BlockCount full);
  void forget(BlockId id);  // removes the hash, and the ways to it
  [[nodiscard]] std::vector<Token> tokens_of(std::uint64_t request, BlockCount number) const;
  [[nodiscard]] ContentId before(std::uint64_t request, BlockCount number) const;
  [[nodiscard]] std::vector<Token> told(std::uint64_t request, TokenCount from,
                                        TokenCount to) const;
  // The block that begins like the next one of `request`, and the tokens; -1 = none.
  [[nodiscard]] std::pair<BlockId, TokenCount> alike(std::uint64_t request, TokenCount known) const;
  [[nodiscard]] bool is_free_leaf(BlockId id) const;
  void find_by_beginning(BlockId id, ContentId parent, std::vector<Token> begins);
  void find_by_beginning(std::uint64_t request, BlockCount number, TokenCount end);
  void check() const;  // every block is in the free list or held

  TokenCount block_size_;
  bool prefix_caching_;
  bool plain_to_front_;
  NaiveTier* tier_;
  PartialReuse partial_;
  std::map<Beginning, Way> beginnings_;  // up to the first token of a part
  std::vector<Block> blocks_;
  std::list<BlockId> free_;
  std::map<ContentId, std::list<BlockId>> found_;  // in the order in which they became findable
  // Filled by questions, too.
  mutable std::unordered_map<std::uint64_t, Sequence> sequences_;
  mutable std::map<Content, ContentId> contents_;
};

}  // namespace headroom::oracle
