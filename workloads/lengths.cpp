#include "workloads/lengths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "sim/kernel/check.hpp"
#include "sim/kernel/det_math.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/time.hpp"

namespace headroom {
namespace {

constexpr double kMaxSigma = 10.0;

std::int32_t checked(std::int64_t tokens, std::string_view stream, std::string_view option) {
  if (tokens < 1 || tokens > kMaxLengthTokens) {
    throw ConfigError(fmt::format("{}: {} is {}; allowed: 1 .. {} tokens", stream, option, tokens,
                                  kMaxLengthTokens));
  }
  return static_cast<std::int32_t>(tokens);
}

double lognormal_median(const LengthOptions& options, std::string_view stream) {
  if (options.median.has_value() == options.mean.has_value()) {
    throw ConfigError(fmt::format("{}: a lognormal law needs its median or its mean{}", stream,
                                  options.median ? ", not both" : ""));
  }
  if (!(options.sigma >= 0.0 && options.sigma <= kMaxSigma)) {
    throw ConfigError(
        fmt::format("{}: sigma is {}; allowed: 0 .. {}", stream, options.sigma, kMaxSigma));
  }
  const double given = options.median ? *options.median : *options.mean;
  if (!(given > 0.0 && given <= static_cast<double>(kMaxLengthTokens))) {
    throw ConfigError(fmt::format("{}: {} is {}; allowed: above 0, at most {} tokens", stream,
                                  options.median ? "median" : "mean", given, kMaxLengthTokens));
  }
  if (options.median) return given;
  return given * det::exp(-0.5 * options.sigma * options.sigma);
}

// floor(u * range) for u = bits / 2^64. Some values are likelier by at most range / 2^64: below
// 2^-32.
std::uint64_t scaled(std::uint64_t bits, std::uint64_t range) {
  return static_cast<std::uint64_t>((Uint128{bits} * range) >> 64);
}

}  // namespace

LengthSampler::LengthSampler(const LengthOptions& options, std::uint64_t seed,
                             std::string_view stream)
    : stream_(seed, stream), law_(options.law) {
  switch (law_) {
    case LengthLaw::fixed: min_ = checked(options.tokens, stream, "tokens"); return;
    case LengthLaw::empirical: prepare_empirical(options, stream); return;
    case LengthLaw::lognormal:
      lognormal_.emplace(lognormal_median(options, stream), options.sigma);
      break;
    case LengthLaw::uniform: break;
  }
  min_ = checked(options.min, stream, "min");
  max_ = checked(options.max, stream, "max");
  if (min_ > max_) {
    throw ConfigError(fmt::format("{}: min {} is above max {}", stream, min_, max_));
  }
}

void LengthSampler::prepare_empirical(const LengthOptions& options, std::string_view stream) {
  const std::size_t count = options.values.size();
  if (count == 0) throw ConfigError(fmt::format("{}: an empirical law needs values", stream));
  values_.reserve(count);
  for (const std::int64_t tokens : options.values) {
    values_.push_back(checked(tokens, stream, "a value"));
  }
  if (options.weights.empty()) return;
  if (options.weights.size() != count) {
    throw ConfigError(
        fmt::format("{}: {} weights for {} values", stream, options.weights.size(), count));
  }
  std::uint64_t sum = 0;
  cumulative_.reserve(count);
  for (const std::int64_t weight : options.weights) {
    if (weight < 0 || weight > kMaxLengthTokens) {
      throw ConfigError(
          fmt::format("{}: a weight is {}; allowed: 0 .. {}", stream, weight, kMaxLengthTokens));
    }
    sum += static_cast<std::uint64_t>(weight);
    cumulative_.push_back(sum);
  }
  if (sum == 0) throw ConfigError(fmt::format("{}: all weights are 0", stream));
}

void LengthSampler::fill(std::span<std::int32_t> tokens) {
  switch (law_) {
    case LengthLaw::fixed: std::fill(tokens.begin(), tokens.end(), min_); break;
    case LengthLaw::uniform: fill_uniform(tokens); break;
    case LengthLaw::lognormal: fill_lognormal(tokens); break;
    case LengthLaw::empirical: fill_empirical(tokens); break;
  }
}

void LengthSampler::fill_uniform(std::span<std::int32_t> tokens) {
  const auto range = static_cast<std::uint64_t>(max_ - min_) + 1;
  for (std::int32_t& value : tokens) {
    value = min_ + static_cast<std::int32_t>(scaled(stream_.bits(), range));
  }
}

void LengthSampler::fill_lognormal(std::span<std::int32_t> tokens) {
  const auto low = static_cast<double>(min_);
  const auto high = static_cast<double>(max_);
  for (std::int32_t& value : tokens) {
    const double u = stream_.uniform();
    const double length = (*lognormal_)(u);
    // In 64 bits: the largest length plus a half does not fit into 32.
    value =
        static_cast<std::int32_t>(static_cast<std::int64_t>(std::clamp(length, low, high) + 0.5));
  }
}

void LengthSampler::fill_empirical(std::span<std::int32_t> tokens) {
  for (std::int32_t& value : tokens) {
    const std::uint64_t bits = stream_.bits();
    std::size_t row = 0;
    if (cumulative_.empty()) {
      row = scaled(bits, values_.size());
    } else {
      const std::uint64_t place = scaled(bits, cumulative_.back());
      const auto found = std::upper_bound(cumulative_.begin(), cumulative_.end(), place);
      row = static_cast<std::size_t>(found - cumulative_.begin());
    }
    value = values_[row];
  }
}

}  // namespace headroom
