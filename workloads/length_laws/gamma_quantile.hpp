#pragma once
// The quantile function of a gamma law, fast: its logarithm as a function of the normal quantile of
// the probability is so smooth, in both tails and for every shape, that cubic interpolation between
// equal steps does for all draws.

#include <vector>

namespace headroom {

class GammaQuantile {
 public:
  // mean > 0; shape in kMinGammaShape .. kMaxGammaShape. Relative error below 1e-6 for
  // probabilities in [2^-53, 1 - 2^-53]: far below the rounding to whole tokens.
  GammaQuantile(double mean, double shape);

  [[nodiscard]] double operator()(double probability) const;
  [[nodiscard]] double exact(double probability) const;  // in (0, 1); relative error below 1e-10

 private:
  double shape_;
  double log_scale_;
  std::vector<double> nodes_;  // ln(quantile / scale)
};

}  // namespace headroom
