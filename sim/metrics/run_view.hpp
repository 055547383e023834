#pragma once
// One reported run of steps with the sums over it that several meters need. All in integers, so
// every meter adds the same amount however a run is cut.

#include "sim/serving/metrics_sink.hpp"

namespace headroom {

// Far more steps than a request has tokens; keeps count * count within 64 bits.
inline constexpr StepCount kMaxRunSteps = StepCount{1} << 31;

// Ticks of the first `count` steps of `run`, count <= kMaxRunSteps.
[[nodiscard]] inline TickSum ticks_of(const StepRun& run, StepCount count) {
  const StepCount pairs = count * (count - 1) / 2;
  return static_cast<TickSum>(run.first_ticks) * count +
         static_cast<TickSum>(run.slope_ticks) * pairs;
}

// Steps of `run` that have ended by the end of nanosecond `t`: the largest n <= steps with
// floor(begin + ticks_of(n)) <= t; 0 also when the run begins after t. O(log steps).
[[nodiscard]] StepCount steps_ended_by(const StepRun& run, TimeNs t);

// G(i) = blocks by which the pool has grown from the first to the i-th further step.
struct RunGrowth {
  BlockCount last = 0;     // G(steps - 1)
  Int128 block_ticks = 0;  // sum over the steps of G(i) * duration of step i
};

// O(min(steps, block size)); nothing for a pool that does not grow with decode.
[[nodiscard]] RunGrowth growth_over(const StepRun& run, StepCount steps);

struct RunView {
  const StepRun& run;
  TickSum ticks = 0;  // of all steps
  TickSum end = 0;    // instant
  RunGrowth growth = {};
  TokenCount tokens_per_step = 0;    // by which kv_tokens grows
  TokenCount reserved_per_step = 0;  // by which reserved_tokens shrinks, down to 0
};

[[nodiscard]] RunView view_of_several(const StepRun& run);  // steps
// Most runs are of one: two of three at low load.
[[nodiscard]] inline RunView view_of(const StepRun& run) {
  if (run.steps != 1) return view_of_several(run);
  return {.run = run, .ticks = run.first_ticks, .end = run.begin + run.first_ticks};
}

// The replica's state during the i-th further step, i < steps.
[[nodiscard]] ReplicaState state_in_step(const RunView& view, StepCount i);

// Turns the state of the first step into that of the last one.
void go_to_last_step(const RunView& view, ReplicaState& state);

}  // namespace headroom
