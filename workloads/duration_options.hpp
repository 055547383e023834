#pragma once
// The laws of thinking, tool and waiting times, and their parameters.

#include <cstdint>
#include <limits>

namespace headroom {

enum class DurationLaw : std::uint8_t { fixed, uniform, exponential, lognormal, gamma };

struct DurationOptions {
  DurationLaw law = DurationLaw::fixed;
  // Seconds, 0 .. 1e9, before the duration is clamped; fixed: the duration; unused by uniform. 0
  // makes every other law fixed.
  double mean_s = 0.0;
  // Seconds. uniform: both ends, the upper one at most 1e9; others: shorter and longer ones become
  // min and max. 0 <= min <= max, min at most 1e9.
  double min_s = 0.0;
  double max_s = std::numeric_limits<double>::infinity();
  double sigma = 1.0;  // lognormal: standard deviation of the logarithm, 0 .. 10
  double shape = 1.0;  // gamma: 0.01 .. 10000; variance = mean^2 / shape
};

}  // namespace headroom
