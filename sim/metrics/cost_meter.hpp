#pragma once
// Where a replica's busy time goes, exactly, in ticks per cost term.

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "sim/metrics/run_view.hpp"

namespace headroom {

class CostMeter {
 public:
  void add(const RunView& view);
  // The same of a run of one step, which most are.
  void add_step(const StepRun& run) {
    if (recent_busy_ + run.first_ticks > kMostRecent) [[unlikely]] {
      return add_long(view_of(run));
    }
    ++steps_;
    prefill_tokens_ += run.shape->chunk_tokens;
    recent_busy_ += run.first_ticks;
    add_bases(run.price->base_terms, 1);
    if (run.price_offset > 0) add_slopes(*run.price, static_cast<std::uint64_t>(run.price_offset));
  }

  [[nodiscard]] TickSum term(CostTerm t) const {
    const auto i = static_cast<std::size_t>(t);
    return terms_[i] + static_cast<Ticks>(recent_[i]);
  }
  // Sum of the durations of all steps.
  [[nodiscard]] TickSum busy_ticks() const { return busy_ + recent_busy_; }
  [[nodiscard]] StepCount steps() const { return steps_; }
  // Computed, padding included.
  [[nodiscard]] TokenCount prefill_tokens() const { return prefill_tokens_; }
  // Cost identity (VERIFICATION V0.7): the terms add up to the busy time.
  [[nodiscard]] bool balanced() const;

 private:
  static constexpr Ticks kMostRecent = Ticks{1} << 60;  // 18 minutes

  // `times` the terms, which are written out: a loop over so few is mostly counting.
  void add_bases(const CostTerms& terms, std::uint64_t times) {
    [&]<std::size_t... t>(std::index_sequence<t...>) {
      ((recent_[t] += static_cast<std::uint64_t>(terms.ticks[t]) * times), ...);
    }
    (std::make_index_sequence<kCostTermCount>{});
  }
  // What the terms of `price` have grown by in steps whose numbers, from 0, add up to `numbers`.
  void add_slopes(const StepPrice& price, std::uint64_t numbers) {
    const auto add = [&](CostTerm t, Ticks slope) {
      recent_[static_cast<std::size_t>(t)] += static_cast<std::uint64_t>(slope) * numbers;
    };
    add(CostTerm::attention_decode, price.slope_terms.attention_decode);
    add(CostTerm::host, price.slope_terms.host);
    add(CostTerm::pipeline, price.slope_terms.pipeline);
  }
  void add_long(const RunView& view);

  std::array<TickSum, kCostTermCount> terms_{};
  TickSum busy_ = 0;
  // Not yet in these, which take 128-bit arithmetic. Modulo 2^64: no term is negative in any step,
  // so what they add up to is at most recent_busy_, whatever the products on the way are.
  std::array<std::uint64_t, kCostTermCount> recent_{};
  Ticks recent_busy_ = 0;  // <= kMostRecent
  StepCount steps_ = 0;
  TokenCount prefill_tokens_ = 0;
};

}  // namespace headroom
