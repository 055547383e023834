#pragma once
// Slots, one for each sequence (llama.cpp's server; its server-context.cpp). Without a unified
// cache the context is divided among the slots when the server starts, and a request has a whole
// part while it runs, however short it is. With one (kv_unified) all slots share the cells and take
// them step by step: what a step computes, never what is still to come. When cells run short, idle
// slots give up what they keep, the first slot first (try_clear_idle_slots).
//
// With cache_prompt a slot keeps the prompt and the answer of the request that had it last, and a
// new request goes on behind what its prompt has in common with that. A request gets the free slot
// that has most in common with its prompt, if that is more than slot_prompt_similarity of the
// prompt; of equals the first. Otherwise it gets the free slot that was given back the longest ago;
// of those never used, the last one.
//
// Limits: the host-memory prompt cache (--cache-ram), the reuse of shifted chunks (--cache-reuse)
// and context shift are not modelled. Content is known as far as the workload names it
// (Request::prefix, output_segment).

#include <cstdint>
#include <vector>

#include "sim/serving/kv_allocator.hpp"
#include "sim/serving/slot_assignment.hpp"

namespace headroom {

// As scenarios give them (llama.cpp: common/arg.cpp).
struct SlotOptions {
  bool cache_prompt = true;
  double slot_prompt_similarity = 0.1;
};

struct SlotKvOptions {
  std::int32_t slots = 1;               // n_parallel, >= 1
  TokenCount slot_tokens = 0;           // longest context of one slot, >= 1
  TokenCount shared_cells = 0;          // of all slots (kv_unified); 0: each owns slot_tokens
  bool cache_prompt = true;             // llama.cpp's default
  double slot_prompt_similarity = 0.1;  // share of the prompt, [0, 1]; llama.cpp's default
};

class SlotKv final : public KvAllocator, public SlotAssignment {
 public:
  explicit SlotKv(const SlotKvOptions& options);

  // Of the slot the request has, or of the one it would get now.
  [[nodiscard]] TokenCount cached_prefix(RequestId id, const Request& request) const override;
  // Takes a slot at the first call for a request. Later calls take cells if they are shared, and
  // else only check that the slot is long enough. A slot of shared cells may begin with none: then
  // it keeps what it has of the request before, until it takes the first ones.
  [[nodiscard]] bool try_grow(const KvGrowth& growth) override;
  // Of shared cells; else nothing grows with decode.
  void take(BlockCount blocks) override;
  void release(RequestId id, const Request& request, TokenCount held_tokens, KvRelease how,
               TokenCount unnamed_tokens = 0) override;
  void on_engine_lost() override;

  [[nodiscard]] std::int32_t slot_of(RequestId id) const override {
    return id < slot_of_.size() ? slot_of_[id] : kNoSlot;
  }
  [[nodiscard]] std::int32_t slots() const override {
    return static_cast<std::int32_t>(slots_.size());
  }
  [[nodiscard]] TokenCount room() const override;
  [[nodiscard]] TokenCount longest(RequestId id) const override;

 private:
  static constexpr std::int32_t kNoSlot = -1;
  struct Slot {
    std::vector<PrefixSegment> content;  // as far as it has identities
    TokenCount content_tokens = 0;
    TokenCount kept = 0;           // shared cells that the content and what follows it sit in
    TokenCount cells = 0;          // taken for its request, without those that take() took for it
    std::uint64_t given_back = 0;  // rank among all releases; 0 = never used
    bool taken = false;
  };
  [[nodiscard]] bool shares_cells() const { return options_.shared_cells > 0; }
  [[nodiscard]] bool try_grow_shared(Slot& slot, TokenCount hold_tokens);
  [[nodiscard]] std::int32_t best_free_slot(const Request* request) const;
  [[nodiscard]] static TokenCount common_tokens(const Slot& slot, const Request& request);
  void remember(Slot& slot, const Request& request, TokenCount held_tokens);
  void forget_content(Slot& slot);
  void give_up_idle_content();
  void update_pool(TokenCount free_change, TokenCount cached_change);

  SlotKvOptions options_;
  std::vector<Slot> slots_;
  std::vector<std::int32_t> slot_of_;  // by RequestId
  std::uint64_t releases_ = 0;
  TokenCount kept_ = 0;     // by all slots; of free cells
  TokenCount waiting_ = 0;  // of these, by taken slots whose request has not begun
};

}  // namespace headroom
