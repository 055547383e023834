#include "sim/metrics/cost_meter.hpp"

namespace headroom {

void CostMeter::add(const RunView& view) {
  if (recent_busy_ + view.ticks > kMostRecent) return add_long(view);
  const StepRun& run = view.run;
  recent_busy_ += static_cast<Ticks>(view.ticks);
  steps_ += run.steps;
  prefill_tokens_ += run.shape->chunk_tokens * run.steps;
  const auto steps = static_cast<std::uint64_t>(run.steps);
  add_bases(run.price->base_terms, steps);
  // Of the numbers of the steps, counted from the price's first one.
  add_slopes(*run.price,
             static_cast<std::uint64_t>(run.price_offset) * steps + steps * (steps - 1) / 2);
}

[[gnu::noinline]] void CostMeter::add_long(const RunView& view) {
  const StepRun& run = view.run;
  steps_ += run.steps;
  prefill_tokens_ += run.shape->chunk_tokens * run.steps;
  const Int128 sum = Int128{run.price_offset} * run.steps + run.steps * (run.steps - 1) / 2;
  for (std::size_t t = 0; t < kCostTermCount; ++t) {
    const auto term = static_cast<CostTerm>(t);
    terms_[t] += static_cast<Ticks>(recent_[t]) + Int128{run.price->base_terms[term]} * run.steps +
                 run.price->slope_terms[term] * sum;
  }
  busy_ += recent_busy_ + view.ticks;
  recent_.fill(0);
  recent_busy_ = 0;
}

bool CostMeter::balanced() const {
  TickSum sum = 0;
  for (std::size_t t = 0; t < kCostTermCount; ++t) sum += term(static_cast<CostTerm>(t));
  return sum == busy_ticks();
}

}  // namespace headroom
