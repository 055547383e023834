#include "sim/serving/stage_flow.hpp"

#include <algorithm>

#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

// `price` takes `duration` instead of all its terms one behind the other.
void take(Ticks duration, StepPrice& price) {
  const Ticks whole = price.base;
  Ticks rest = duration;
  for (Ticks& term : price.base_terms.ticks) {
    if (duration < whole) term = static_cast<Ticks>(TickSum{term} * duration / whole);
    rest -= term;
  }
  price.base_terms[CostTerm::pipeline] += rest;
  price.base = duration;
  price.slope = 0;
  price.slope_terms = {};
  price.valid_steps = 1;
}

}  // namespace

void StageFlow::enter(const StageTimes& times, TickSum now, TickSum last_exit, StepPrice& price) {
  free_.resize(times.busy.size(), 0);
  // What the step costs beyond its way through the stages (copies, a cold start) delays the first.
  Ticks delay = price.base - times.prepare - times.hand_over_in_all;
  for (const Ticks busy : times.busy) delay -= busy;
  HEADROOM_CHECK(delay >= 0 && !times.busy.empty(), "stages that take longer than their step");

  const auto hops = static_cast<Ticks>(times.busy.size()) - 1;
  TickSum arrives = now + delay;
  for (std::size_t stage = 0; stage < times.busy.size(); ++stage) {
    // A stage prepares a micro-batch while the ones before it still work on that.
    const TickSum free = std::max(now + (stage == 0 ? delay : 0), free_[stage]);
    free_[stage] = std::max(arrives, free + times.prepare) + times.busy[stage];
    const Ticks hop = static_cast<Ticks>(stage) < hops ? times.hand_over_in_all / hops : 0;
    arrives = free_[stage] + hop;
  }
  // The division leaves a remainder of ticks to the last hand-over.
  const Ticks left_over = hops > 0 ? times.hand_over_in_all % hops : times.hand_over_in_all;
  const TickSum exit = std::max(arrives + left_over, last_exit + times.host);
  free_.back() = exit;
  take(static_cast<Ticks>(exit - last_exit), price);
}

}  // namespace headroom
