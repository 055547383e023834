#pragma once
// TensorRT-LLM, stage A of a step (ENGINES.md 3.3): which requests may hold KV. One class per
// capacity_scheduler_policy. A request is *started* from its first chunk until it leaves or is
// paused.
//
// For pools of one block size in which a request keeps all its blocks (no attention windows).

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/serving/kv_allocator.hpp"
#include "sim/serving/options.hpp"
#include "sim/serving/request.hpp"

namespace headroom {

// Which requests may hold KV (TensorRT-LLM's capacity_scheduler_policy).
enum class CapacityPolicy : std::uint8_t { guaranteed_no_evict, max_utilization, static_batch };

// Blocks by request, and their sum.
class BlockClaims {
 public:
  void set(RequestId id, BlockCount blocks);
  void drop(RequestId id);
  void clear();
  [[nodiscard]] BlockCount total() const { return total_; }

 private:
  std::vector<BlockCount> blocks_;  // by RequestId, 0 = no claim
  BlockCount total_ = 0;
};

class TrtllmCapacity {
 public:
  // A waiting request may start if this fits besides what the pool holds.
  struct Need {
    TokenCount tokens = 0;
    BlockCount keep_free = 0;  // promised to started requests
  };

  virtual ~TrtllmCapacity() = default;

  // Whether a request may start in a plan before which `started` others hold KV.
  [[nodiscard]] virtual bool is_open(std::int64_t started) const = 0;
  [[nodiscard]] virtual Need need(const Request& request, const KvPoolState& pool) const = 0;
  // Blocks that the decoding requests may take; when short, the last started one is paused.
  [[nodiscard]] virtual BlockCount free_for_decodes(const KvPoolState& pool) const = 0;

  // `request` holds KV for `tokens` tokens of its known ones after a chunk.
  virtual void on_chunk(RequestId id, const Request& request, TokenCount tokens,
                        const KvPoolState& pool) = 0;
  void on_leave(RequestId id) { claims_.drop(id); }
  void on_engine_lost() { claims_.clear(); }

 protected:
  BlockClaims claims_;
};

// GUARANTEED_NO_EVICT: a started request owns the blocks that prompt + max_tokens will take, so no
// request is ever paused.
class GuaranteedNoEvict : public TrtllmCapacity {
 public:
  // `drafts`: slots that a request needs beyond its last token (speculative decoding).
  explicit GuaranteedNoEvict(TokenCount drafts) : drafts_(drafts) {}
  [[nodiscard]] bool is_open(std::int64_t started) const override;
  [[nodiscard]] Need need(const Request& request, const KvPoolState& pool) const override;
  [[nodiscard]] BlockCount free_for_decodes(const KvPoolState& pool) const override;
  void on_chunk(RequestId id, const Request& request, TokenCount tokens,
                const KvPoolState& pool) override;

 private:
  [[nodiscard]] TokenCount tokens_to_completion(const Request& request) const;

  TokenCount drafts_;
};

// STATIC_BATCH: requests start together, and only when none is active.
class StaticBatch final : public GuaranteedNoEvict {
 public:
  using GuaranteedNoEvict::GuaranteedNoEvict;
  [[nodiscard]] bool is_open(std::int64_t started) const override;
};

// MAX_UTILIZATION: one step ahead (the engine looks two ahead only with several micro batches in
// flight, i.e. pipeline parallelism). A request needs the blocks of its whole prompt to start, and
// owns them from then on, although the model here takes them chunk by chunk.
class MaxUtilization final : public TrtllmCapacity {
 public:
  [[nodiscard]] bool is_open(std::int64_t started) const override;
  [[nodiscard]] Need need(const Request& request, const KvPoolState& pool) const override;
  [[nodiscard]] BlockCount free_for_decodes(const KvPoolState& pool) const override;
  void on_chunk(RequestId id, const Request& request, TokenCount tokens,
                const KvPoolState& pool) override;
};

[[nodiscard]] std::unique_ptr<TrtllmCapacity> make_trtllm_capacity(CapacityPolicy policy,
                                                                   TokenCount drafts);

}  // namespace headroom
