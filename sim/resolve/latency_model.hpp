#pragma once
// What a router may know of the speed of a replica's steps: a few figures, measured once.

#include "scheduler/routing/options.hpp"
#include "sim/serving/step_cost.hpp"

namespace headroom {

// From the prices of four steps, as somebody would who measures an idle replica: one sequence and
// 64 of them of one token, 64 of 1,024 tokens, and a prompt of 2,048 tokens alone.
[[nodiscard]] LatencyModel latency_model(const StepCost& cost);

}  // namespace headroom
