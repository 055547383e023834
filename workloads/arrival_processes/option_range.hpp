#pragma once
// Refusals of arrival options, all in one wording. `option` is the option's name, `unit` the words
// behind a value (" s").

#include <fmt/format.h>

#include <string_view>

#include "sim/kernel/errors.hpp"

namespace headroom {

// Longest durations (31 years) and highest rates of rate profiles and states. Bounds keep every
// product of the two, and every sum of a few durations in ns, far inside the range of its type.
inline constexpr double kMaxProfileSeconds = 1e9;
inline constexpr double kMaxProfileRate = 1e12;

[[noreturn]] inline void refuse_arrivals(std::string_view option, double value,
                                         std::string_view unit, std::string_view allowed) {
  throw ConfigError(
      fmt::format("arrivals: {} is {}{}; allowed: {}{}", option, value, unit, allowed, unit));
}

inline void check_above_0(std::string_view option, double value, double high,
                          std::string_view unit) {
  if (value > 0.0 && value <= high) return;  // nan is neither
  refuse_arrivals(option, value, unit, fmt::format("above 0, at most {}", high));
}

inline void check_between(std::string_view option, double value, double low, double high,
                          std::string_view unit) {
  if (value >= low && value <= high) return;
  refuse_arrivals(option, value, unit, fmt::format("{} .. {}", low, high));
}

}  // namespace headroom
