#include "workloads/duration_law.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "sim/kernel/check.hpp"
#include "sim/kernel/det_math.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/time.hpp"
#include "workloads/gamma_function.hpp"
#include "workloads/length_laws/length_quantile.hpp"

namespace headroom {
namespace {

constexpr double kMaxSeconds = 1e9;

void check_range(std::string_view name, std::string_view option, double value, double low,
                 double high, std::string_view unit) {
  if (value >= low && value <= high) return;  // nan is not
  throw ConfigError(
      fmt::format("{}: {} is {}; allowed: {} .. {}{}", name, option, value, low, high, unit));
}

void check_ends(const DurationOptions& options, std::string_view name) {
  const bool uniform = options.law == DurationLaw::uniform;
  const double highest = uniform ? kMaxSeconds : std::numeric_limits<double>::infinity();
  check_range(name, "min_s", options.min_s, 0.0, kMaxSeconds, " s");
  check_range(name, "max_s", options.max_s, 0.0, highest, " s");
  if (options.min_s > options.max_s) {
    throw ConfigError(
        fmt::format("{}: min_s {} is above max_s {}", name, options.min_s, options.max_s));
  }
}

}  // namespace

DurationQuantile::DurationQuantile(const DurationOptions& options, std::string_view name)
    : law_(law_of(options, name)), min_s_(options.min_s), max_s_(options.max_s) {}

DurationQuantile::Law DurationQuantile::law_of(const DurationOptions& options,
                                               std::string_view name) {
  check_ends(options, name);
  if (options.law == DurationLaw::uniform) return Uniform{options.min_s, options.max_s};
  const double mean = options.mean_s;
  check_range(name, "mean_s", mean, 0.0, kMaxSeconds, " s");
  const bool lognormal = options.law == DurationLaw::lognormal;
  if (lognormal) check_range(name, "sigma", options.sigma, 0.0, kMaxLognormalSigma, "");
  const bool gamma = options.law == DurationLaw::gamma;
  if (gamma) check_range(name, "shape", options.shape, kMinGammaShape, kMaxGammaShape, "");
  if (mean == 0.0) return Fixed{0.0};
  switch (options.law) {
    case DurationLaw::fixed: return Fixed{mean};
    case DurationLaw::exponential: return Exponential{mean};
    case DurationLaw::lognormal: {
      const double median = mean * det::exp(-0.5 * options.sigma * options.sigma);
      return LognormalQuantile(median, options.sigma);
    }
    case DurationLaw::gamma: return GammaQuantile(mean, options.shape);
    case DurationLaw::uniform: break;
  }
  HEADROOM_CHECK(false, "unknown duration law");
  return Fixed{0.0};
}

TimeNs DurationQuantile::operator()(std::uint64_t bits) const {
  const double u = uniform_of(bits);
  const double drawn_s = std::visit([u](const auto& law) { return law(u); }, law_);
  const double ns = std::clamp(drawn_s, min_s_, max_s_) * kNsPerSecondReal;
  if (ns >= static_cast<double>(kLongestDurationNs)) return kLongestDurationNs;
  return static_cast<TimeNs>(ns + 0.5);
}

}  // namespace headroom
