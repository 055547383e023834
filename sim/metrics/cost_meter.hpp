#pragma once
// Where a replica's busy time goes, exactly, in ticks per cost term.

#include <array>
#include <cstddef>
#include <cstdint>

#include "sim/metrics/run_view.hpp"

namespace headroom {

class CostMeter {
 public:
  void add(const RunView& view);

  [[nodiscard]] TickSum term(CostTerm t) const {
    const auto i = static_cast<std::size_t>(t);
    return terms_[i] + static_cast<Ticks>(recent_[i]);
  }
  [[nodiscard]] TickSum busy_ticks() const { return busy_; }  // sum of the durations of all steps
  [[nodiscard]] StepCount steps() const { return steps_; }
  // Computed, padding included.
  [[nodiscard]] TokenCount prefill_tokens() const { return prefill_tokens_; }
  // Cost identity (VERIFICATION V0.7): the terms add up to the busy time.
  [[nodiscard]] bool balanced() const;

 private:
  static constexpr TickSum kMostRecent = TickSum{1} << 60;  // 18 minutes

  void add_recent(const StepRun& run);
  void add_long(const RunView& view);

  std::array<TickSum, kCostTermCount> terms_{};
  // Not yet in terms_, which takes 128-bit arithmetic. Modulo 2^64: no term is negative in any
  // step, so what they add up to is at most recent_busy_, whatever the products on the way are.
  std::array<std::uint64_t, kCostTermCount> recent_{};
  TickSum recent_busy_ = 0;  // <= kMostRecent
  TickSum busy_ = 0;
  StepCount steps_ = 0;
  TokenCount prefill_tokens_ = 0;
};

}  // namespace headroom
