#include "sim/metrics/cost_meter.hpp"

namespace headroom {

void CostMeter::add(const RunView& view) {
  const StepRun& run = view.run;
  const CostTerms& base = run.price->base_terms;
  const CostTerms& slope = run.price->slope_terms;
  const StepCount offset = run.price_offset;
  const StepCount pairs = run.steps * (run.steps - 1) / 2;
  busy_ += view.ticks;
  recent_busy_ += view.ticks;
  // No term is negative in any step. So a term's sum is at most that of all, and its first value
  // times the steps at most twice that, were it to fall to nothing.
  if (recent_busy_ <= kMostRecent) {
    for (std::size_t t = 0; t < kCostTermCount; ++t) {
      const Ticks first = base.ticks[t] + slope.ticks[t] * offset;
      recent_[t] += first * run.steps + slope.ticks[t] * pairs;
    }
  } else {
    for (std::size_t t = 0; t < kCostTermCount; ++t) {
      const Ticks first = base.ticks[t] + slope.ticks[t] * offset;
      terms_[t] += recent_[t] + static_cast<Int128>(first) * run.steps +
                   static_cast<Int128>(slope.ticks[t]) * pairs;
    }
    recent_.fill(0);
    recent_busy_ = 0;
  }
  steps_ += run.steps;
  prefill_tokens_ += run.shape.chunk_tokens * run.steps;
}

bool CostMeter::balanced() const {
  TickSum sum = 0;
  for (std::size_t t = 0; t < kCostTermCount; ++t) sum += terms_[t] + recent_[t];
  return sum == busy_;
}

}  // namespace headroom
