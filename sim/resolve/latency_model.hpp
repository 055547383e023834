#pragma once
// What a router may know of the speed of a replica's steps: a few figures, measured once.

#include "scheduler/routing/options.hpp"
#include "sim/serving/step_cost.hpp"

namespace headroom {

// From the prices of four steps, as one would measure them on an idle replica: one sequence of one
// token, 64 of them, 64 sequences of 1,024 tokens, and a prompt of 2,048 tokens alone.
[[nodiscard]] LatencyModel latency_model(const StepCost& cost);

}  // namespace headroom
