#include "workloads/length_laws/gamma_quantile.hpp"

#include <algorithm>
#include <cstddef>

#include "sim/kernel/det_math.hpp"
#include "workloads/gamma_function.hpp"
#include "workloads/normal_cdf.hpp"
#include "workloads/normal_quantile.hpp"

namespace headroom {
namespace {

// Node i is at z = (i - 1) / kCellsPerUnit - kReach. The normal quantile of 2^-53 is -8.21.
constexpr double kReach = 8.25;
constexpr double kCellsPerUnit = 64.0;
constexpr std::size_t kCells = 1056;
static_assert(kCells == 2 * static_cast<std::size_t>(kReach * kCellsPerUnit));

}  // namespace

GammaQuantile::GammaQuantile(double mean, double shape)
    : shape_(shape), log_scale_(det::log(mean / shape)), nodes_(kCells + 3) {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const double z = (static_cast<double>(i) - 1.0) / kCellsPerUnit - kReach;
    const Tail tail = z <= 0.0 ? Tail::lower : Tail::upper;
    nodes_[i] = log_gamma_quantile(shape, normal_cdf(z <= 0.0 ? z : -z), tail);
  }
}

double GammaQuantile::operator()(double probability) const {
  const double last = static_cast<double>(kCells) - 0.5;
  const double place =
      std::clamp((normal_quantile(probability) + kReach) * kCellsPerUnit, 0.0, last);
  const auto cell = static_cast<std::size_t>(place);
  const double t = place - static_cast<double>(cell);  // Lagrange through -1, 0, 1, 2
  const double* node = &nodes_[cell];
  const double low = (t - 1.0) * (t - 2.0);
  const double high = (t + 1.0) * t;
  const double log_quantile = (high * (t - 1.0) * node[3] - t * low * node[0]) / 6.0 +
                              ((t + 1.0) * low * node[1] - high * (t - 2.0) * node[2]) / 2.0;
  return det::exp(log_quantile + log_scale_);
}

double GammaQuantile::exact(double probability) const {
  const bool lower = probability <= 0.5;
  const double log_quantile = log_gamma_quantile(shape_, lower ? probability : 1.0 - probability,
                                                 lower ? Tail::lower : Tail::upper);
  return det::exp(log_quantile + log_scale_);
}

}  // namespace headroom
