#pragma once
// Block-by-block pool of a group that keeps every token beside windows (docs/semantics.md 27;
// vLLM's HybridKVCacheCoordinator, FullAttentionManager, SlidingWindowManager and
// ChunkedLocalAttentionManager). Every id is an object, every block table a map. Slow and obvious
// on purpose.

#include <compare>
#include <cstdint>
#include <list>
#include <map>
#include <utility>
#include <vector>

#include "sim/serving/kv_allocator.hpp"
#include "tests/oracle/block_pool.hpp"

namespace headroom::oracle {

struct NaiveWindow {
  TokenCount tokens = 0;
  std::size_t ids = 1;  // of a block
  bool chunked = false;
};

class WindowPool {
 public:
  // `keeps_every`: there is a group that keeps every token. `drops_last`: the last block of a hit
  // is computed again, for a drafter.
  WindowPool(BlockCount total, TokenCount block_size, TokenCount step_tokens, bool plain_to_front,
             std::vector<NaiveWindow> windows, bool keeps_every = true, bool drops_last = false);

  [[nodiscard]] BlockCount free_blocks() const { return static_cast<BlockCount>(free_.size()); }
  [[nodiscard]] BlockCount cached_blocks() const;
  [[nodiscard]] BlockCount shared_blocks() const;

  void introduce(std::uint64_t request, std::vector<Token> beginning);
  [[nodiscard]] TokenCount cached_prefix(std::uint64_t request, TokenCount known) const;
  // What the group that keeps every token would find by itself.
  [[nodiscard]] TokenCount full_prefix(std::uint64_t request, TokenCount known) const;

  // Free ids that an admission must find, with `cached` tokens found and `hold` after its chunk.
  [[nodiscard]] BlockCount needed_to_admit(std::uint64_t request, TokenCount cached,
                                           TokenCount hold, TokenCount known) const;
  void admit(std::uint64_t request, TokenCount cached, TokenCount hold, TokenCount known);
  [[nodiscard]] bool compute(std::uint64_t request, TokenCount before, TokenCount hold,
                             TokenCount known);
  void begin_plan();
  // The ids of the next token of a sequence of `tokens`, when its full windows have moved.
  [[nodiscard]] BlockCount needed_to_decode(std::uint64_t request, TokenCount tokens) const;
  void move(std::uint64_t request, TokenCount tokens);
  void decode(std::uint64_t request, TokenCount tokens);
  void release(std::uint64_t request, TokenCount held, KvRelease how);

 private:
  using Content = std::vector<Token>;         // of a sequence from its beginning to a block's end
  using Key = std::pair<int, Content>;        // and which table: 0 full, 1.. windows
  using Block = std::vector<BlockId>;         // its ids
  using Table = std::map<BlockCount, Block>;  // by number
  struct Id {
    int holders = 0;
    bool hashed = false;
    Key key;  // by which it is found; empty content: not at all
  };
  struct Sequence {
    std::vector<Token> beginning;
    std::vector<Table> tables;
    TokenCount tokens = 0;   // as of the last chunk
    BlockCount known = 0;    // full blocks of known tokens, likewise
    BlockCount in_path = 0;  // full table: blocks that are found, from the first
    BlockCount named = 0;    // windows: blocks looked at when they became known
  };

  [[nodiscard]] BlockCount blocks(TokenCount tokens) const;
  [[nodiscard]] BlockCount most(const NaiveWindow& window) const;
  [[nodiscard]] BlockCount first_seen(const NaiveWindow& window, TokenCount tokens) const;
  [[nodiscard]] BlockCount first_in_step(const NaiveWindow& window, TokenCount before,
                                         TokenCount after) const;
  [[nodiscard]] bool is_private(const Sequence& seq, BlockCount number) const;
  [[nodiscard]] Key key(std::uint64_t request, std::size_t table, BlockCount number) const;
  [[nodiscard]] bool finds(std::uint64_t request, std::size_t table, BlockCount number) const;
  [[nodiscard]] bool valid(std::uint64_t request, BlockCount hit) const;
  Block take(std::size_t ids);
  void forget(BlockId id);
  void hold_found(std::uint64_t request, std::size_t table, BlockCount number);
  void give_back(const Block& block, bool hashed);
  void name(std::uint64_t request, BlockCount full, bool private_too);
  void trim(std::uint64_t request);
  void drop_before(Table& table, BlockCount first);
  void take_until(std::uint64_t request, TokenCount before, TokenCount after);

  TokenCount block_size_;
  TokenCount step_tokens_;
  bool plain_to_front_;
  std::vector<NaiveWindow> windows_;
  bool keeps_every_;
  bool drops_last_;
  std::vector<Id> ids_;
  std::list<BlockId> free_;
  std::map<Key, std::list<Block>> found_;  // in the order in which they became findable
  std::map<std::uint64_t, Sequence> sequences_;
  std::vector<std::uint64_t> computing_;  // in the step planned last
};

}  // namespace headroom::oracle
