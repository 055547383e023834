#pragma once
// How full a replica's KV pool was: time integrals, exact in blocks (or tokens) x ticks, and peaks.

#include "sim/metrics/run_view.hpp"

namespace headroom {

// How a pool's tokens are spent at one time. capacity = used + reserved + internal + free, and both
// external and cached are parts of what is free.
struct KvSplit {
  TokenCount capacity = 0;
  TokenCount used = 0;      // tokens with KV
  TokenCount reserved = 0;  // held, empty, will be written if nobody is preempted
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
  // `state` lasted so long (between steps).
  void add_constant(const ReplicaState& state, TickSum ticks);

  [[nodiscard]] const KvIntegrals& integrals() const { return integrals_; }
  [[nodiscard]] TickSum observed_ticks() const { return observed_; }
  [[nodiscard]] std::int32_t block_tokens() const { return block_tokens_; }
  [[nodiscard]] BlockCount capacity_blocks() const { return capacity_blocks_; }
  [[nodiscard]] BlockCount peak_used_blocks() const { return peak_used_blocks_; }
  [[nodiscard]] TokenCount peak_kv_tokens() const { return peak_kv_tokens_; }

 private:
  template <typename Span>
  void add_lasting(const ReplicaState& state, Span ticks);
  void add_long(const ReplicaState& state, TickSum ticks);
  void add_growth(const RunView& view);
  void note_pool(const KvPoolState& pool, BlockCount used_blocks, TokenCount kv_tokens);

  KvIntegrals integrals_;
  TickSum observed_ = 0;
  std::int32_t block_tokens_ = 1;
  BlockCount capacity_blocks_ = 0;
  BlockCount peak_used_blocks_ = 0;
  TokenCount peak_kv_tokens_ = 0;
};

}  // namespace headroom
