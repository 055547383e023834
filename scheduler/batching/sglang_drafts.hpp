#pragma once
// SGLang's rounds of speculative decoding (docs/semantics.md 24): every decoding request verifies
// the same number of tokens in each, no budget cuts it and no row sits out. Before the round it
// holds KV slots for it; what is rejected leaves its slots to the next one, and none are given back
// before the request leaves.

#include <cstdint>
#include <vector>

#include "scheduler/batching/request_list.hpp"
#include "sim/serving/batch_scheduler.hpp"
#include "sim/serving/options.hpp"

namespace headroom {

class SglangDrafts {
 public:
  explicit SglangDrafts(const SpeculationOptions& options)
      : tokens_(options.verified_tokens),
        slots_(options.verified_tokens + options.lookahead_tokens) {}

  // False: no speculative decoding, and nothing below is called.
  [[nodiscard]] bool any() const { return tokens_ > 0; }
  // Behind the computed tokens of a row.
  [[nodiscard]] TokenCount slots() const { return slots_; }

  // The prompt of `id` is complete, which holds `tokens`.
  void begin(RequestId id, TokenCount tokens);
  // Blocks that a round of `rows`, which all decode, lacks. O(rows).
  [[nodiscard]] BlockCount blocks_needed(const PlanContext& context, const RequestList& rows) const;
  // Takes those, which must be free, and plans the round.
  void plan(const PlanContext& context, const RequestList& rows, BatchPlan& plan);

 private:
  [[nodiscard]] TokenCount wanted(const PlanContext& context, RequestId id) const;

  std::int32_t tokens_;
  TokenCount slots_;
  std::vector<TokenCount> held_;  // by RequestId; begin(), plan()
};

}  // namespace headroom
