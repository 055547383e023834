#include "sim/metrics/cost_meter.hpp"

namespace headroom {

inline void CostMeter::add_term(std::size_t t, Ticks base, Ticks slope, StepCount steps,
                                Int128 slopes) {
  Ticks constant = 0;
  Ticks rising = 0;
  const auto few = static_cast<std::int64_t>(slopes);
  const bool fits = few == slopes && !__builtin_mul_overflow(base, steps, &constant) &&
                    !__builtin_mul_overflow(slope, few, &rising);
  Ticks sum = 0;
  if (fits && !__builtin_add_overflow(constant, rising, &sum) &&
      !__builtin_add_overflow(recent_[t], sum, &sum)) {
    recent_[t] = sum;
    return;
  }
  terms_[t] += recent_[t] + static_cast<Int128>(base) * steps + slope * slopes;
  recent_[t] = 0;
}

void CostMeter::add(const RunView& view) {
  const StepRun& run = view.run;
  // Sum over the steps of offset + i.
  const Int128 slopes =
      static_cast<Int128>(run.steps) * run.price_offset + run.steps * (run.steps - 1) / 2;
  const CostTerms& base = run.price->base_terms;
  const CostTerms& slope = run.price->slope_terms;
  for (std::size_t t = 0; t < kCostTermCount; ++t) {
    if (base.ticks[t] == 0 && slope.ticks[t] == 0) continue;
    add_term(t, base.ticks[t], slope.ticks[t], run.steps, slopes);
  }
  busy_ += view.ticks;
  steps_ += run.steps;
  prefill_tokens_ += run.shape.chunk_tokens * run.steps;
}

bool CostMeter::balanced() const {
  TickSum sum = 0;
  for (std::size_t t = 0; t < kCostTermCount; ++t) sum += terms_[t] + recent_[t];
  return sum == busy_;
}

}  // namespace headroom
