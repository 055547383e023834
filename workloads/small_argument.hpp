#pragma once
// ln(1 + x) and e^x - 1 without the cancellation near x = 0, from det_math alone: the rounding of
// 1 + x is undone by the same factor (Kahan; Higham, Accuracy and Stability of Numerical
// Algorithms, 2002, 1.14.1). Relative error below 1e-15 for |x| < 1.

#include "sim/kernel/det_math.hpp"

namespace headroom {

[[nodiscard]] inline double log_1_plus(double x) {  // x > -1
  const double sum = 1.0 + x;
  return sum == 1.0 ? x : det::log(sum) * (x / (sum - 1.0));
}

[[nodiscard]] inline double exp_minus_1(double x) {  // |x| < 700
  const double power = det::exp(x);
  if (power == 1.0) return x;
  return power - 1.0 == -1.0 ? -1.0 : (power - 1.0) * (x / det::log(power));
}

}  // namespace headroom
