#pragma once
// How full a replica's KV pool was: time integrals, exact in blocks (or tokens) x ticks, and peaks.

#include <algorithm>

#include "sim/kernel/likely.hpp"
#include "sim/metrics/run_view.hpp"

namespace headroom {

// How a pool's tokens are spent at one time. capacity = used + reserved + internal + free, and both
// external and cached are parts of what is free.
struct KvSplit {
  TokenCount capacity = 0;
  TokenCount used = 0;      // tokens with KV
  TokenCount reserved = 0;  // held, empty, will be written if no request is preempted
  TokenCount internal = 0;  // held, empty, will never be written (as far as known now)
  TokenCount external = 0;  // free, but outside the largest hole
  TokenCount cached = 0;    // free, but their content can still be found
};
[[nodiscard]] KvSplit split_of(const ReplicaState& state);

// In blocks (tokens) x ticks.
struct KvIntegrals {
  Int128 total_blocks = 0;
  Int128 used_blocks = 0;
  Int128 external_blocks = 0;
  Int128 cached_blocks = 0;
  Int128 kv_tokens = 0;
  Int128 reserved_tokens = 0;
  friend bool operator==(const KvIntegrals&, const KvIntegrals&) = default;
};

class KvMeter {
 public:
  void add_run(const RunView& view);
  // `state` lasted so long: one step, or the time between two.
  void add_constant(const ReplicaState& state, Ticks ticks) { add_lasting(state, ticks); }
  void add_constant(const ReplicaState& state, TickSum ticks);

  [[nodiscard]] KvIntegrals integrals() const;
  [[nodiscard]] TickSum observed_ticks() const { return observed_; }
  [[nodiscard]] std::int32_t block_tokens() const { return block_tokens_; }
  [[nodiscard]] BlockCount capacity_blocks() const { return capacity_blocks_; }
  [[nodiscard]] BlockCount peak_used_blocks() const { return peak_used_blocks_; }
  [[nodiscard]] TokenCount peak_kv_tokens() const { return peak_kv_tokens_; }

 private:
  // `Span` is the type of a duration: in 64 bits a product takes one multiplication.
  template <typename Span>
  void add_lasting(const ReplicaState& state, Span ticks) {
    const KvPoolState& pool = state.pool;
    note_pool(pool, pool.used_blocks(), state.kv_tokens);
    observed_ += ticks;
    integrals_.used_blocks += Int128{pool.used_blocks()} * ticks;
    integrals_.cached_blocks += Int128{pool.cached_blocks} * ticks;
    integrals_.kv_tokens += Int128{state.kv_tokens} * ticks;
    if (rarely(pool.free_blocks != pool.largest_hole)) {
      integrals_.external_blocks += Int128{pool.free_blocks - pool.largest_hole} * ticks;
    }
    if (rarely(state.reserved_tokens != 0)) {
      integrals_.reserved_tokens += Int128{state.reserved_tokens} * ticks;
    }
  }
  void add_growth(const RunView& view);
  void note_pool(const KvPoolState& pool, BlockCount used_blocks, TokenCount kv_tokens) {
    if (pool.total_blocks != capacity_blocks_) [[unlikely]] {
      resize(pool);
    }
    peak_used_blocks_ = std::max(peak_used_blocks_, used_blocks);
    peak_kv_tokens_ = std::max(peak_kv_tokens_, kv_tokens);
  }
  void resize(const KvPoolState& pool);

  KvIntegrals integrals_;  // total_blocks: up to the last change of capacity
  TickSum observed_ = 0;
  TickSum resized_at_ = 0;  // when that was, in observed ticks
  std::int32_t block_tokens_ = 1;
  BlockCount capacity_blocks_ = 0;
  BlockCount peak_used_blocks_ = 0;
  TokenCount peak_kv_tokens_ = 0;
};

}  // namespace headroom
