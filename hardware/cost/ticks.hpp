#pragma once
// Durations that a cost model computes, as whole ticks.

#include <string>

#include "sim/kernel/errors.hpp"
#include "sim/kernel/time.hpp"

namespace headroom {

// Counts, bytes and ticks as cost formulas take them.
inline double real(std::int64_t value) { return static_cast<double>(value); }

// The price of a step cannot be counted. It knows rates and sizes, not the options that they came
// from: who made it from a scenario adds those.
struct StepCostError : ConfigError {
  explicit StepCostError(const std::string& problem) : ConfigError("step cost: " + problem) {}
};

// To the nearest tick. StepCostError from kMaxStepTicks on.
inline Ticks ticks_from_ns(double ns) {
  const double ticks = ns * static_cast<double>(kTicksPerNs);
  if (!(ticks < static_cast<double>(kMaxStepTicks))) {
    throw StepCostError("a step would take longer than 73 minutes");
  }
  return static_cast<Ticks>(ticks + 0.5);
}

inline Ticks ticks_from_seconds(double seconds) { return ticks_from_ns(seconds * 1e9); }

}  // namespace headroom
