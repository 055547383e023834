#include "sim/metrics/cost_meter.hpp"

namespace headroom {

void CostMeter::add(const RunView& view) {
  const StepRun& run = view.run;
  busy_ += view.ticks;
  steps_ += run.steps;
  prefill_tokens_ += run.shape->chunk_tokens * run.steps;
  if (recent_busy_ + view.ticks > kMostRecent) return add_long(view);
  recent_busy_ += view.ticks;
  if (run.steps > 1 || run.price_offset > 0) return add_recent(run);
  const CostTerms& terms = run.price->base_terms;
  for (std::size_t t = 0; t < kCostTermCount; ++t) {
    recent_[t] += static_cast<std::uint64_t>(terms.ticks[t]);
  }
}

// Apart, like add_long(): inlined they would cost runs of one step their registers.
[[gnu::noinline]] void CostMeter::add_recent(const StepRun& run) {
  const auto steps = static_cast<std::uint64_t>(run.steps);
  // Of the numbers of the steps, counted from the price's first one.
  const std::uint64_t sum =
      static_cast<std::uint64_t>(run.price_offset) * steps + steps * (steps - 1) / 2;
  const CostTerms& base = run.price->base_terms;
  const CostTerms& slope = run.price->slope_terms;
  for (std::size_t t = 0; t < kCostTermCount; ++t) {
    recent_[t] += static_cast<std::uint64_t>(base.ticks[t]) * steps +
                  static_cast<std::uint64_t>(slope.ticks[t]) * sum;
  }
}

[[gnu::noinline]] void CostMeter::add_long(const RunView& view) {
  const StepRun& run = view.run;
  const Int128 sum = Int128{run.price_offset} * run.steps + run.steps * (run.steps - 1) / 2;
  for (std::size_t t = 0; t < kCostTermCount; ++t) {
    terms_[t] += static_cast<Ticks>(recent_[t]) +
                 Int128{run.price->base_terms.ticks[t]} * run.steps +
                 run.price->slope_terms.ticks[t] * sum;
  }
  recent_.fill(0);
  recent_busy_ = 0;
}

bool CostMeter::balanced() const {
  TickSum sum = 0;
  for (std::size_t t = 0; t < kCostTermCount; ++t) sum += term(static_cast<CostTerm>(t));
  return sum == busy_;
}

}  // namespace headroom
