#pragma once
// Every length law as a quantile function of one draw: 64 uniform bits in, whole tokens out, never
// fewer for a larger draw.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/kernel/det_math.hpp"
#include "sim/kernel/time.hpp"
#include "workloads/length_laws/gamma_quantile.hpp"
#include "workloads/length_laws/zipf_quantile.hpp"
#include "workloads/length_options.hpp"
#include "workloads/lognormal_quantile.hpp"
#include "workloads/normal_quantile.hpp"

namespace headroom {

// A draw as a number in (0, 1): RandomStream::uniform() of the same bits.
[[nodiscard]] inline double uniform_of(std::uint64_t bits) {
  return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52;
}
// Bits whose number is `u` in (0, 1), or the nearest there is: uniform_of(bits_of(uniform_of(b)))
// is uniform_of(b).
[[nodiscard]] inline std::uint64_t bits_of(double u) {
  return static_cast<std::uint64_t>(u * 0x1p64);
}

// floor(u * range) for u = bits / 2^64. Some values are likelier by at most range / 2^64: below
// 2^-32.
[[nodiscard]] inline std::uint64_t scaled(std::uint64_t bits, std::uint64_t range) {
  return static_cast<std::uint64_t>((Uint128{bits} * range) >> 64);
}

struct LengthBounds {
  std::int32_t min = 1;
  std::int32_t max = 1;

  [[nodiscard]] std::int32_t rounded(double length) const {
    const double within = std::clamp(length, static_cast<double>(min), static_cast<double>(max));
    // In 64 bits: the largest length plus a half does not fit into 32.
    return static_cast<std::int32_t>(static_cast<std::int64_t>(within + 0.5));
  }
};

struct FixedLength {
  std::int32_t tokens;
  [[nodiscard]] std::int32_t operator()(std::uint64_t /*bits*/) const { return tokens; }
};

struct UniformLength {
  LengthBounds bounds;
  [[nodiscard]] std::int32_t operator()(std::uint64_t bits) const {
    const auto range = static_cast<std::uint64_t>(bounds.max - bounds.min) + 1;
    return bounds.min + static_cast<std::int32_t>(scaled(bits, range));
  }
};

struct LognormalLength {
  LengthBounds bounds;
  LognormalQuantile quantile;
  [[nodiscard]] std::int32_t operator()(std::uint64_t bits) const {
    return bounds.rounded(quantile(uniform_of(bits)));
  }
};

struct NormalLength {
  LengthBounds bounds;
  double mean;
  double stddev;
  [[nodiscard]] std::int32_t operator()(std::uint64_t bits) const {
    return bounds.rounded(mean + stddev * normal_quantile(uniform_of(bits)));
  }
};

struct GammaLength {
  LengthBounds bounds;
  GammaQuantile quantile;
  [[nodiscard]] std::int32_t operator()(std::uint64_t bits) const {
    return bounds.rounded(quantile(uniform_of(bits)));
  }
};

struct ExponentialLength {
  LengthBounds bounds;
  double mean;
  [[nodiscard]] std::int32_t operator()(std::uint64_t bits) const {
    return bounds.rounded(-mean * det::log(1.0 - uniform_of(bits)));  // the difference is exact
  }
};

// P(length > k) = (1 - 1/mean)^k: the smallest k that leaves at most 1 - u above it.
struct GeometricLength {
  LengthBounds bounds;
  double log_continue;  // ln(1 - 1/mean); -infinity for mean 1
  [[nodiscard]] std::int32_t operator()(std::uint64_t bits) const {
    const double steps =
        std::clamp(det::log(1.0 - uniform_of(bits)) / log_continue, static_cast<double>(bounds.min),
                   static_cast<double>(bounds.max));
    const auto whole = static_cast<std::int32_t>(steps);
    return static_cast<double>(whole) < steps ? whole + 1 : whole;
  }
};

struct ZipfLength {
  ZipfQuantile quantile;
  [[nodiscard]] std::int32_t operator()(std::uint64_t bits) const {
    return quantile(uniform_of(bits));
  }
};

struct EmpiricalLength {
  std::vector<std::int32_t> values;
  std::vector<std::uint64_t> cumulative;  // of the weights; empty = all equal
  [[nodiscard]] std::int32_t operator()(std::uint64_t bits) const {
    if (cumulative.empty()) return values[scaled(bits, values.size())];
    const std::uint64_t place = scaled(bits, cumulative.back());
    const auto found = std::upper_bound(cumulative.begin(), cumulative.end(), place);
    return values[static_cast<std::size_t>(found - cumulative.begin())];
  }
};

using LengthQuantile =
    std::variant<FixedLength, UniformLength, LognormalLength, NormalLength, GammaLength,
                 ExponentialLength, GeometricLength, ZipfLength, EmpiricalLength>;

// ConfigError that begins with `name`.
[[nodiscard]] LengthQuantile length_quantile(const LengthOptions& options, std::string_view name);

}  // namespace headroom
