#pragma once
// What a prefix cache of a given size could save on a workload, without simulating an engine: a
// sequential replay. No timing, one pool, prompts only. A request is looked up, then all of its
// blocks are put into the pool, then the pool is cut down to its capacity, and only then comes the
// next request (the rule of the reference numbers, TRACES.md 4.2). A real engine differs: requests
// overlap, answers are cached too, blocks in use cannot be evicted.
//
// The prompt's pieces are cut into blocks of `block_tokens`, whatever the pieces' own lengths. A
// block is known by the tokens from the prompt's first one up to its own last one: it matches where
// all of these are known to be equal (sim/serving/prefix.hpp). A request's hit is its leading
// blocks that are in the pool when it arrives, up to the first that is not.
//
// Objects are independent: to compare capacities, give each request to several of them in turn.
// Time: O(1) a block and a piece, no allocation but the growth of tables. Memory: 32 to 64
// bytes for each distinct block ever seen, evicted or not.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/kernel/random.hpp"
#include "sim/serving/prefix.hpp"

namespace headroom {

// Which block leaves a pool that holds more than its capacity. The blocks of the request that has
// just been put in are no exception.
enum class PrefixEviction : std::uint8_t {
  lru,    // the one whose last touch is longest ago; a request touches all of its blocks
  fifo,   // the one that was put in first; a hit changes nothing
  random  // any, with equal chances
};

// In which order a request touches its blocks.
enum class PrefixTouch : std::uint8_t {
  root_oldest,  // first to last: the head of a prompt goes first. Hits equal those of a cache of
                // single objects, which evicts in the middle of a request, too
  leaf_oldest   // last to first: the tail of a prompt goes first, as in vLLM
};

struct PrefixReplayOptions {
  std::int32_t block_tokens = 16;                              // tokens; >= 1
  std::optional<std::int64_t> capacity_blocks = std::nullopt;  // >= 0; absent = without end
  PrefixEviction eviction = PrefixEviction::lru;
  PrefixTouch touch = PrefixTouch::leaf_oldest;
  // Off: only full blocks are shared, as in engines that hash full blocks. On: the rest after the
  // last full block is a block too, and matches only one with the same tokens.
  bool count_partial = false;
  std::uint64_t seed = 0;  // of the stream "prefix_replay/eviction"; used by `random` alone
};

// Sums over all requests so far. Ratios are 0 where there is nothing to divide by.
struct PrefixReplayTotals {
  std::int64_t requests = 0;
  std::int64_t input_tokens = 0;     // of the prompts
  std::int64_t prefix_tokens = 0;    // of these, with an identity
  std::int64_t blocks = 0;           // with an identity
  std::int64_t distinct_blocks = 0;  // different ones among them
  std::int64_t hit_blocks = 0;
  std::int64_t hit_tokens = 0;
  // As far as an engine can use a hit: at most floor((prompt - 1) / block_tokens) blocks, so that
  // at least one token is left to compute.
  std::int64_t capped_hit_blocks = 0;
  std::int64_t capped_hit_tokens = 0;
  std::int64_t requests_with_hit = 0;
  std::int64_t max_hit_blocks = 0;  // of one request
  std::int64_t evictions = 0;       // blocks
  double request_ratio_sum = 0.0;   // of hit blocks / blocks; 0 for requests without blocks

  [[nodiscard]] double hit_ratio_blocks() const;         // hit blocks / blocks
  [[nodiscard]] double hit_ratio_tokens() const;         // hit tokens / input tokens
  [[nodiscard]] double capped_hit_ratio_tokens() const;  // capped hit tokens / input tokens
  [[nodiscard]] double mean_request_ratio() const;       // over all requests
};

class PrefixReplay {
 public:
  explicit PrefixReplay(const PrefixReplayOptions& options);  // ConfigError

  // The next request. Returns its hit, in blocks, not capped. `prompt_tokens` >= 1; every piece
  // has >= 1 token; all together have at most `prompt_tokens`.
  std::int64_t add(std::int32_t prompt_tokens, std::span<const PrefixSegment> prefix);

  [[nodiscard]] const PrefixReplayTotals& totals() const { return totals_; }
  [[nodiscard]] std::int64_t resident_blocks() const { return resident_; }  // in the pool now

 private:
  static constexpr std::uint32_t kRing = 0;
  static constexpr std::uint32_t kAbsent = UINT32_MAX;

  // A distinct block. Never removed, so that its number lasts; `next` says whether it is in the
  // pool. The pool of lru and fifo is a ring, kRing -> oldest -> .. -> newest -> kRing, through a
  // node that is no block.
  struct Node {
    std::uint64_t key = 0;
    std::uint32_t prev = 0;
    std::uint32_t next = 0;  // kAbsent: not in the pool
  };

  struct Place {
    std::uint32_t node = 0;  // 0: empty
    std::uint32_t tag = 0;   // lower bits of the node's key: spares most looks at other nodes
  };

  void cut(std::span<const PrefixSegment> prefix);
  [[nodiscard]] std::uint32_t node_of(std::uint64_t key);
  [[nodiscard]] std::size_t place_of(std::uint64_t key) const;  // its own, or the empty one for it
  void grow_table();
  void count(std::int32_t prompt_tokens, std::int64_t prefix_tokens, std::int64_t hit);
  void touch(std::uint32_t node);
  void link_newest(std::uint32_t node);
  void unlink(std::uint32_t node);
  void evict_one();

  PrefixReplayOptions options_;
  RandomStream random_;
  PrefixReplayTotals totals_;
  std::vector<Node> nodes_;
  std::vector<Place> table_;  // open addressing, 2^table_bits_ places, at most half full
  int table_bits_ = 0;
  std::vector<std::uint32_t> path_;  // blocks of the current request, first to last
  std::vector<std::uint32_t> pool_;  // eviction random: what is in the pool, in no order
  std::int64_t resident_ = 0;
};

}  // namespace headroom
