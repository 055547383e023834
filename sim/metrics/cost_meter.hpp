#pragma once
// Where a replica's busy time goes, exactly, in ticks per cost term.

#include <array>

#include "sim/metrics/run_view.hpp"

namespace headroom {

class CostMeter {
 public:
  void add(const RunView& view);

  [[nodiscard]] TickSum term(CostTerm t) const {
    return terms_[static_cast<std::size_t>(t)] + recent_[static_cast<std::size_t>(t)];
  }
  [[nodiscard]] TickSum busy_ticks() const { return busy_; }  // sum of the durations of all steps
  [[nodiscard]] StepCount steps() const { return steps_; }
  // Computed, padding included.
  [[nodiscard]] TokenCount prefill_tokens() const { return prefill_tokens_; }
  // Cost identity (VERIFICATION V0.7): the terms add up to the busy time.
  [[nodiscard]] bool balanced() const;

 private:
  static constexpr TickSum kMostRecent = TickSum{1} << 60;  // in recent_: 18 minutes

  std::array<TickSum, kCostTermCount> terms_{};
  std::array<Ticks, kCostTermCount> recent_{};  // not yet in terms_, which takes 128-bit arithmetic
  TickSum recent_busy_ = 0;                     // what recent_ adds up to
  TickSum busy_ = 0;
  StepCount steps_ = 0;
  TokenCount prefill_tokens_ = 0;
};

}  // namespace headroom
