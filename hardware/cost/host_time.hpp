#pragma once
// Host time of a step beside its device time.

#include "hardware/calibration.hpp"
#include "sim/serving/step_cost.hpp"

namespace headroom {

// A synchronous engine adds its host time. An asynchronous one hides it behind the device: the step
// takes the longer of both, and only what the device does not cover is charged as host time. That
// part shrinks as contexts grow, until the device is the longer one: there the price ends.
void add_host_time(Ticks host, EngineMode mode, StepPrice& price);

}  // namespace headroom
