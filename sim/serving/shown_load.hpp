#pragma once
// The part of a replica's load that changes with every step, as others see it: KV in use and tokens
// generated at the latest step end or plan at which a request was admitted, preempted or left. The
// values in between are not shown, so a run of steps may be cut anywhere without changing the
// results.

#include "sim/serving/kv_allocator.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

class ShownLoad {
 public:
  // A request was admitted, preempted or left: the replica calls show() at the end of this event.
  void become_stale() { stale_ = true; }
  [[nodiscard]] bool is_stale() const { return stale_; }
  // `generated`: tokens that the requests here have.
  void show(const KvPoolState& pool, TokenCount generated) {
    stale_ = false;
    kv_tokens_ = pool.used_blocks() * pool.block_tokens;
    generated_tokens_ = generated;
  }

  [[nodiscard]] TokenCount kv_tokens() const { return kv_tokens_; }
  [[nodiscard]] TokenCount generated_tokens() const { return generated_tokens_; }

 private:
  bool stale_ = false;  // become_stale() and show() write
  // show() writes.
  TokenCount kv_tokens_ = 0;
  TokenCount generated_tokens_ = 0;
};

}  // namespace headroom
