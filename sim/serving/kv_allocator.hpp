#pragma once
// Port: whether KV fits and where. Compute the need, then refuse or act; never roll back.

#include <bit>
#include <cstdint>
#include <utility>

#include "sim/kernel/likely.hpp"
#include "sim/serving/decode_set.hpp"
#include "sim/serving/request.hpp"
#include "sim/serving/sequence_blocks.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

// State of a pool in its own blocks (a token-granular or contiguous pool has blocks of one token).
// total = used + free, and cached <= free.
struct KvPoolState {
  std::int32_t block_tokens = 1;
  bool grows_with_decode = false;  // false: everything a request will need is held at admission
  BlockCount total_blocks = 0;
  BlockCount free_blocks = 0;
  BlockCount cached_blocks = 0;  // free, but their content can still be found (prefix cache)
  BlockCount largest_hole =
      0;  // largest request that placement allows now; = free_blocks when paged
  // Blocks that several requests hold, counted once for each holder but the first: what the holders
  // have in all is used_blocks() + shared_blocks.
  BlockCount shared_blocks = 0;
  // Used blocks that only the step planned last needs: the tokens that it computes behind the
  // window of a layer. They come back when the next step is planned.
  BlockCount step_blocks = 0;
  // Free blocks without content are taken before cached ones, but for a pool that takes them as
  // they were released: there that is so of the first ones, and behind them lie `mixed_blocks`,
  // `mixed_plain` of them without content.
  BlockCount mixed_blocks = 0;
  BlockCount mixed_plain = 0;
  bool takes_powers_of_two = false;  // what a request holds is rounded up to one (buddy placement)

  // Block size as a DecodeSet counts it: 0 when decodes never need memory.
  [[nodiscard]] std::int32_t decode_block_tokens() const {
    return grows_with_decode ? block_tokens : 0;
  }
  [[nodiscard]] BlockCount used_blocks() const { return total_blocks - free_blocks; }
  // Tokens that a reservation of `tokens` >= 1 takes from an empty pool.
  [[nodiscard]] TokenCount taken_by(TokenCount tokens) const {
    return takes_powers_of_two
               ? static_cast<TokenCount>(std::bit_ceil(static_cast<std::uint64_t>(tokens)))
               : tokens;
  }
  // Blocks that can be taken before the order is unknown; and those before a cached one goes.
  [[nodiscard]] BlockCount ordered_blocks() const { return free_blocks - mixed_blocks; }
  [[nodiscard]] BlockCount plain_first() const { return free_blocks - cached_blocks - mixed_plain; }
};

// How a request leaves the pool: what becomes of the identities of its full blocks.
enum class KvRelease : std::uint8_t {
  finished,   // those that other prompts can begin with stay findable
  preempted,  // it will come back, and may find all its own full blocks again
  dropped     // only blocks of its prompt stay findable, as they were while it ran
};

struct KvGrowth {
  RequestId id = kNoRequest;
  const Request* request = nullptr;  // identities of its tokens; null = it has none
  TokenCount cached_tokens = 0;  // prefix found by cached_prefix() in this plan; only at admission
  TokenCount hold_tokens = 0;    // tokens that must be held after the call
  TokenCount lookahead_tokens = 0;  // of hold_tokens: slots behind what the step computes
  bool is_unknown = false;          // the content cannot be found yet; a later call makes it known
  TokenCount fit_tokens = 0;    // tokens that must fit now for the call to succeed (>= hold_tokens)
  TokenCount final_tokens = 0;  // what a reserving allocator sets aside: prompt + max_tokens
  BlockCount keep_free = 0;     // watermark: blocks that must stay free afterwards
};

// Blocks copied between the device and a second tier of memory (host, disk).
struct KvTierCounts {
  std::int64_t stored_blocks = 0;     // overwritten on the device, copied to the host
  std::int64_t loaded_blocks = 0;     // found in the tier and copied back, from the disk too
  std::int64_t stored_on_disk = 0;    // overwritten on the host, copied to the disk
  std::int64_t loaded_from_disk = 0;  // of the loaded ones

  friend constexpr bool operator==(const KvTierCounts&, const KvTierCounts&) = default;
  KvTierCounts& operator+=(const KvTierCounts& other) {
    stored_blocks += other.stored_blocks;
    loaded_blocks += other.loaded_blocks;
    stored_on_disk += other.stored_on_disk;
    loaded_from_disk += other.loaded_from_disk;
    return *this;
  }
};

// What the next step has to wait for.
struct KvTraffic {
  BlockCount loaded_blocks = 0;  // from the disk too
  BlockCount loaded_from_disk = 0;
  BlockCount stored_blocks = 0;  // overwritten for what try_grow() asked for
  TokenCount moved_tokens = 0;   // copied within the pool

  [[nodiscard]] bool any() const {  // none of them is negative
    return (loaded_blocks | stored_blocks | moved_tokens) != 0;
  }
};

// Of an allocator that follows what layers with windows keep, block by block.
class KvWindows {
 public:
  virtual ~KvWindows() = default;

  // A step is about to be planned: what only the step before needed (pool().step_blocks) comes
  // back.
  virtual void begin_plan() = 0;

  // Whether a decoding sequence has to say when a full window of its layers takes a further block:
  // where the content of the block that leaves can be found. The number of ids stays.
  [[nodiscard]] virtual bool moves() const = 0;
  // `id` grows to `tokens`, so the part that it keeps begins with other blocks.
  virtual void move(RequestId id, const Request& request, TokenCount tokens) = 0;
};

class RankPools;

class KvAllocator {
 public:
  virtual ~KvAllocator() = default;

  [[nodiscard]] const KvPoolState& pool() const { return pool_; }

  // Which blocks a sequence holds.
  [[nodiscard]] const SequenceBlocks& sequence() const { return sequence_; }
  // `request`, which decodes and has `held` computed tokens, as a DecodeSet counts it.
  [[nodiscard]] DecodingRow row_of(const Request& request, TokenCount held) const {
    return {held, request.ids_per_block, sequence_.uniform() ? 0 : sequence_.kept(held) - held,
            request.adapter != 0};
  }

  // Tokens of the longest cached prefix of `request`, at most known_tokens - 1, those in a second
  // tier included; 0 for one that wants log-probabilities of its prompt. Changes nothing, but may
  // count as a use of what it finds, unless `id` is kNoRequest. Of one that holds blocks before its
  // admission, for KV that has come from another replica: all but one.
  [[nodiscard]] virtual TokenCount cached_prefix(RequestId id, const Request& request) const = 0;

  // Makes `growth.id` hold growth.hold_tokens. All or nothing: on false no request holds more or
  // less (but TGI forgets cached content).
  [[nodiscard]] virtual bool try_grow(const KvGrowth& growth) = 0;

  // Takes `blocks` for decoding requests as they cross block boundaries. Which request they belong
  // to follows from its length, so it is not said here. The caller has checked pool().free_blocks.
  virtual void take(BlockCount blocks) = 0;

  // Gives back everything `id` holds. `held_tokens` = tokens it holds KV for; 0 for a request that
  // waits: then only the memory of a preempted one is given up, that it might come back.
  // `unnamed_tokens`: the last of them, whose content the engine does not know: of a ghost row, or
  // of a decode step in flight.
  virtual void release(RequestId id, const Request& request, TokenCount held_tokens, KvRelease how,
                       TokenCount unnamed_tokens = 0) = 0;

  // Forgets every request and all content: the engine died, and its memory with it.
  virtual void on_engine_lost() = 0;

  // What was copied for try_grow() since it was taken; the replica prices it. What take()
  // overwrites is copied behind the decode steps and delays none: a plan repeated many times and
  // its single steps must cost the same.
  [[nodiscard]] bool has_traffic() const { return traffic_.any(); }
  KvTraffic take_traffic() { return std::exchange(traffic_, {}); }
  // Since the start, what take() overwrote included. Nullptr: there is no second tier.
  [[nodiscard]] const KvTierCounts* tier_counts() const { return tier_counts_; }

  // Nullptr: no layer keeps a window, or windows are not modelled.
  [[nodiscard]] KvWindows* windows() const { return windows_; }
  [[nodiscard]] bool moves_windows() const {
    return rarely(windows_ != nullptr) && windows_->moves();
  }
  // Of the data ranks of one engine; nullptr: there is one pool.
  [[nodiscard]] RankPools* ranks() const { return ranks_; }

 protected:
  explicit KvAllocator(SequenceBlocks sequence = SequenceBlocks(1))
      : sequence_(std::move(sequence)) {}

  KvPoolState pool_;
  KvTraffic traffic_;
  const KvTierCounts* tier_counts_ = nullptr;
  KvWindows* windows_ = nullptr;
  RankPools* ranks_ = nullptr;

 private:
  SequenceBlocks sequence_;
};

}  // namespace headroom
