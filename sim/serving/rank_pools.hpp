#pragma once
// The KV pools of data ranks as one: what concerns a request goes to the pool of its rank
// (Request::rank), and pool() is the sum of all.

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "sim/serving/decode_set.hpp"
#include "sim/serving/kv_allocator.hpp"

namespace headroom {

class RankPools final : public KvAllocator, private KvWindows {
 public:
  // Of equal pools that grow with decode, two or more, without a second tier.
  explicit RankPools(std::vector<std::unique_ptr<KvAllocator>> pools);
  RankPools(const RankPools&) = delete;  // its base points into it
  RankPools& operator=(const RankPools&) = delete;

  [[nodiscard]] std::size_t count() const { return pools_.size(); }
  // Whoever changes it calls add_up() before pool() is read again.
  [[nodiscard]] KvAllocator& of(std::size_t rank) { return *pools_[rank]; }
  void add_up();
  // Takes the blocks of the next `steps` steps of each rank's decoding sequences.
  void take_steps(std::span<const DecodeSet> decodes, StepCount steps);

  // Of nobody who is here (kNoRequest): in the pool where most is found.
  [[nodiscard]] TokenCount cached_prefix(RequestId id, const Request& request) const override;
  [[nodiscard]] bool try_grow(const KvGrowth& growth) override;
  // Not known of which rank: take_steps() does it.
  void take(BlockCount blocks) override;
  void release(RequestId id, const Request& request, TokenCount held_tokens, KvRelease how,
               TokenCount unnamed_tokens = 0) override;
  void on_engine_lost() override;

 private:
  void begin_plan() override;
  [[nodiscard]] bool moves() const override { return pools_.front()->moves_windows(); }
  void move(RequestId id, const Request& request, TokenCount tokens) override;
  void order_free_blocks();

  std::vector<std::unique_ptr<KvAllocator>> pools_;
};

}  // namespace headroom
