#pragma once

#include <cstdint>

#include "sim/kernel/det_math.hpp"

namespace headroom {

// Share of the experts that `tokens` tokens reach, each picking top_k of E at random: 1 - (1 -
// k/E)^T. log_missed = ln(1 - k/E). Below exp(-40) the rest no longer changes a double.
inline double share_of_experts(double log_missed, std::int64_t tokens) {
  if (tokens == 0) return 0;
  const double exponent = log_missed * static_cast<double>(tokens);
  return exponent < -40 ? 1.0 : 1.0 - det::exp(exponent);
}

}  // namespace headroom
