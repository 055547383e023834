#pragma once
// KV that is copied between two steps: blocks of victims to the host and back, blocks of a second
// tier, moves within the pool. The step that is planned next waits for them.

#include <cstdint>
#include <utility>

#include "sim/kernel/time.hpp"
#include "sim/serving/kv_allocator.hpp"
#include "sim/serving/link.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

class KvTransfers {
 public:
  // `move_ticks_per_token`: copying the KV of a token within the pool (compaction).
  KvTransfers(TierLinks links, Ticks move_ticks_per_token)
      : links_(std::move(links)), move_ticks_per_token_(move_ticks_per_token) {}

  // Blocks of a request that is swapped out, and of one that comes back.
  void swap_out(BlockCount blocks) {
    pending_.stored_blocks += blocks;
    swaps_.stored_blocks += blocks;
  }
  void swap_in(BlockCount blocks) {
    pending_.loaded_blocks += blocks;
    swaps_.loaded_blocks += blocks;
  }
  [[nodiscard]] bool any(const KvAllocator& kv) const { return pending_.any() || kv.has_traffic(); }

  // How long a step that would begin at `begin` waits for the copies requested since the last call,
  // including the allocator's: blocks to be overwritten are stored first, then the rest is loaded.
  [[nodiscard]] TickSum take_delay(KvAllocator& kv, TickSum begin);

  // Copies that no request waits for any more.
  void forget(KvAllocator& kv) {
    pending_ = {};
    static_cast<void>(kv.take_traffic());
  }

  // Since the start, the allocator's included. Nullptr: nothing of the KV ever leaves the device.
  [[nodiscard]] const KvTierCounts* counts(const KvAllocator& kv) const {
    const KvTierCounts* counts = kv.tier_counts();
    return counts == nullptr && links_.to_device ? &swaps_ : counts;
  }

 private:
  TierLinks links_;
  Ticks move_ticks_per_token_;
  KvTraffic pending_;   // of swaps
  KvTierCounts swaps_;  // since the start
};

}  // namespace headroom
