#include "workloads/length_laws/length_quantile.hpp"

#include <fmt/format.h>

#include "sim/kernel/check.hpp"
#include "sim/kernel/errors.hpp"
#include "workloads/gamma_function.hpp"
#include "workloads/small_argument.hpp"

namespace headroom {
namespace {

constexpr auto kMaxLengthReal = static_cast<double>(kMaxLengthTokens);

std::int32_t checked(std::int64_t tokens, std::string_view name, std::string_view option) {
  if (tokens < 1 || tokens > kMaxLengthTokens) {
    throw ConfigError(fmt::format("{}: {} is {}; allowed: 1 .. {} tokens", name, option, tokens,
                                  kMaxLengthTokens));
  }
  return static_cast<std::int32_t>(tokens);
}

LengthBounds checked_bounds(const LengthOptions& options, std::string_view name) {
  const LengthBounds bounds{.min = checked(options.min, name, "min"),
                            .max = checked(options.max, name, "max")};
  if (bounds.min > bounds.max) {
    throw ConfigError(fmt::format("{}: min {} is above max {}", name, bounds.min, bounds.max));
  }
  return bounds;
}

double above_0(double given, std::string_view name, std::string_view option) {
  if (given > 0.0 && given <= kMaxLengthReal) return given;
  throw ConfigError(fmt::format("{}: {} is {}; allowed: above 0, at most {} tokens", name, option,
                                given, kMaxLengthTokens));
}

double needed_mean(const LengthOptions& options, std::string_view name, std::string_view law) {
  if (!options.mean) throw ConfigError(fmt::format("{}: {} law needs its mean", name, law));
  return above_0(*options.mean, name, "mean");
}

double lognormal_median(const LengthOptions& options, std::string_view name) {
  if (options.median.has_value() == options.mean.has_value()) {
    throw ConfigError(fmt::format("{}: a lognormal law needs its median or its mean{}", name,
                                  options.median ? ", not both" : ""));
  }
  if (!(options.sigma >= 0.0 && options.sigma <= kMaxLognormalSigma)) {
    throw ConfigError(
        fmt::format("{}: sigma is {}; allowed: 0 .. {}", name, options.sigma, kMaxLognormalSigma));
  }
  if (options.median) return above_0(*options.median, name, "median");
  return above_0(*options.mean, name, "mean") * det::exp(-0.5 * options.sigma * options.sigma);
}

NormalLength normal_length(const LengthOptions& options, std::string_view name) {
  const double mean = needed_mean(options, name, "a normal");
  if (!options.stddev) throw ConfigError(fmt::format("{}: a normal law needs its stddev", name));
  const double stddev = *options.stddev;
  if (!(stddev >= 0.0 && stddev <= kMaxLengthReal)) {
    throw ConfigError(
        fmt::format("{}: stddev is {}; allowed: 0 .. {} tokens", name, stddev, kMaxLengthTokens));
  }
  return {checked_bounds(options, name), mean, stddev};
}

GammaLength gamma_length(const LengthOptions& options, std::string_view name) {
  const double mean = needed_mean(options, name, "a gamma");
  if (!(options.shape >= kMinGammaShape && options.shape <= kMaxGammaShape)) {
    throw ConfigError(fmt::format("{}: shape is {}; allowed: {} .. {}", name, options.shape,
                                  kMinGammaShape, kMaxGammaShape));
  }
  return {checked_bounds(options, name), GammaQuantile(mean, options.shape)};
}

GeometricLength geometric_length(const LengthOptions& options, std::string_view name) {
  const double mean = needed_mean(options, name, "a geometric");
  if (mean < 1.0) {
    throw ConfigError(fmt::format("{}: mean is {}; a geometric law allows: 1 .. {} tokens", name,
                                  mean, kMaxLengthTokens));
  }
  return {checked_bounds(options, name), log_1_plus(-1.0 / mean)};
}

ZipfLength zipf_length(const LengthOptions& options, std::string_view name) {
  const LengthBounds bounds = checked_bounds(options, name);
  if (bounds.max - bounds.min >= kMaxZipfLengths) {
    throw ConfigError(fmt::format("{}: min {} and max {} span more than {} lengths of a zipf law",
                                  name, bounds.min, bounds.max, kMaxZipfLengths));
  }
  if (!(options.exponent > 0.0 && options.exponent <= kMaxZipfExponent)) {
    throw ConfigError(fmt::format("{}: exponent is {}; allowed: above 0, at most {}", name,
                                  options.exponent, kMaxZipfExponent));
  }
  return {ZipfQuantile(bounds.min, bounds.max, options.exponent)};
}

EmpiricalLength empirical_length(const LengthOptions& options, std::string_view name) {
  EmpiricalLength law;
  const std::size_t count = options.values.size();
  if (count == 0) throw ConfigError(fmt::format("{}: an empirical law needs values", name));
  law.values.reserve(count);
  for (const std::int64_t tokens : options.values) {
    law.values.push_back(checked(tokens, name, "a value"));
  }
  if (options.weights.empty()) return law;
  if (options.weights.size() != count) {
    throw ConfigError(
        fmt::format("{}: {} weights for {} values", name, options.weights.size(), count));
  }
  std::uint64_t sum = 0;
  law.cumulative.reserve(count);
  for (const std::int64_t weight : options.weights) {
    if (weight < 0 || weight > kMaxLengthTokens) {
      throw ConfigError(
          fmt::format("{}: a weight is {}; allowed: 0 .. {}", name, weight, kMaxLengthTokens));
    }
    sum += static_cast<std::uint64_t>(weight);
    law.cumulative.push_back(sum);
  }
  if (sum == 0) throw ConfigError(fmt::format("{}: all weights are 0", name));
  return law;
}

}  // namespace

LengthQuantile length_quantile(const LengthOptions& options, std::string_view name) {
  switch (options.law) {
    case LengthLaw::fixed: return FixedLength{checked(options.tokens, name, "tokens")};
    case LengthLaw::uniform: return UniformLength{checked_bounds(options, name)};
    case LengthLaw::lognormal: {
      const double median = lognormal_median(options, name);
      return LognormalLength{checked_bounds(options, name),
                             LognormalQuantile(median, options.sigma)};
    }
    case LengthLaw::empirical: return empirical_length(options, name);
    case LengthLaw::normal: return normal_length(options, name);
    case LengthLaw::gamma: return gamma_length(options, name);
    case LengthLaw::exponential: {
      const double mean = needed_mean(options, name, "an exponential");
      return ExponentialLength{checked_bounds(options, name), mean};
    }
    case LengthLaw::geometric: return geometric_length(options, name);
    case LengthLaw::zipf: return zipf_length(options, name);
  }
  HEADROOM_CHECK(false, "unknown length law");
  return FixedLength{1};
}

}  // namespace headroom
