#pragma once
// The standard normal distribution function: the inverse of workloads/normal_quantile.hpp.

namespace headroom {

// Relative error below 1e-15 * (1 + z^2) for z < 0, absolute error below 1e-15 above; 0 and 1
// beyond what a double can tell from them.
[[nodiscard]] double normal_cdf(double z);

}  // namespace headroom
