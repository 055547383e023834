#include "workloads/gaussian_copula.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel/det_math.hpp"
#include "sim/kernel/errors.hpp"
#include "workloads/normal_cdf.hpp"
#include "workloads/normal_quantile.hpp"

namespace headroom {
namespace {

double checked(double correlation) {
  if (correlation >= -1.0 && correlation <= 1.0) return correlation;
  throw ConfigError(fmt::format("lengths: the correlation is {}; allowed: -1 .. 1", correlation));
}

}  // namespace

GaussianCopula::GaussianCopula(double correlation)
    : correlation_(checked(correlation)),
      rest_(det::sqrt((1.0 - correlation) * (1.0 + correlation))) {}

double GaussianCopula::operator()(double first, double independent) const {
  if (correlation_ == 0.0) return independent;
  if (correlation_ == 1.0) return first;
  if (correlation_ == -1.0) return 1.0 - first;
  const double from_first = correlation_ * normal_quantile(first);
  const double z = from_first + rest_ * normal_quantile(independent);
  return std::clamp(normal_cdf(z), 0x1p-53, 1.0 - 0x1p-53);  // within (0, 1), as draws are
}

}  // namespace headroom
