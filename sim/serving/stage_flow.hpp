#pragma once
// Pipeline stages as a line of machines: each works on one micro-batch after another, in the order
// in which they were planned, and all of them at once.

#include <vector>

#include "sim/kernel/time.hpp"
#include "sim/serving/step_cost.hpp"

namespace headroom {

class StageFlow {
 public:
  // The micro-batch of a step is planned at `now`; the one before it leaves the last stage at
  // `last_exit`, now or later. `price` is that of the step alone, through all stages, and becomes
  // the time from `last_exit` to its own exit: its terms shrink where micro-batches overlap, and
  // where it waits longer than it takes, that is CostTerm::pipeline. O(stages).
  void enter(const StageTimes& times, TickSum now, TickSum last_exit, StepPrice& price);
  // Whatever was in the stages is gone.
  void clear() { free_.clear(); }

 private:
  std::vector<TickSum> free_;  // by stage: when it has done all that was planned
};

}  // namespace headroom
