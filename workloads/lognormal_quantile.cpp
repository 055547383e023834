#include "workloads/lognormal_quantile.hpp"

#include "sim/kernel/det_math.hpp"
#include "workloads/normal_quantile.hpp"

namespace headroom {
namespace {

constexpr double kMaxTableSigma = 2.0;  // wider laws change too fast within a cell

}  // namespace

LognormalQuantile::LognormalQuantile(double median, double sigma)
    : log_median_(det::log(median)), sigma_(sigma) {
  if (sigma > kMaxTableSigma) return;
  smooth_cells_ = kSmoothCells;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const auto place = static_cast<double>(kTailCells + i) - 1.0;
    nodes_[i] = exact(place / static_cast<double>(kCells));
  }
}

double LognormalQuantile::exact(double probability) const {
  // Not median * exp(...): the sign of the exponent would be a coin toss for the branch predictor.
  return det::exp(log_median_ + sigma_ * normal_quantile(probability));
}

}  // namespace headroom
