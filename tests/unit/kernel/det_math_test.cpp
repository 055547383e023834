#include "sim/kernel/det_math.hpp"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace headroom::det_math_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kMax = std::numeric_limits<double>::max();
constexpr double kDenormMin = std::numeric_limits<double>::denorm_min();
constexpr int kPoints = 1'000'000;
constexpr double kUlpLimit = 2.0;

// Distance of `got` from the true value in units of the last place of a double there. The
// reference, long double libm, has 64 bits: its own error is below 0.001 of this unit.
double ulps(double got, long double truth) {
  const auto nearest = static_cast<double>(truth);
  if (got == nearest) return 0.0;
  if (std::isinf(nearest)) return got == kMax ? 1.0 : kInfinity;
  if (!std::isfinite(got)) return kInfinity;
  int exponent = -1074;
  if (nearest != 0.0) (void)std::frexp(nearest, &exponent);
  const long double unit = std::ldexp(1.0L, std::max(exponent - 53, -1074));
  return static_cast<double>(std::fabs(static_cast<long double>(got) - truth) / unit);
}

class Points {
 public:
  double between(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(engine_);
  }
  double positive_bits() {  // any finite double > 0, all exponents alike
    const std::uint64_t bits = 1 + engine_() % (std::bit_cast<std::uint64_t>(kMax));
    return std::bit_cast<double>(bits);
  }
  double near_one() {  // 1 +- 2^-k, k = 0 .. 52
    const double offset = std::ldexp(between(-1.0, 1.0), -static_cast<int>(engine_() % 53));
    return std::max(1.0 + offset, 0x1p-53);
  }

 private:
  std::mt19937_64 engine_{7};
};

TEST_CASE("exp is within 2 ulp from underflow to overflow", "[det_math]") {
  Points points;
  double worst = 0.0;
  for (int i = 0; i < kPoints; ++i) {
    const double wide = points.between(-746.0, 710.0);
    const double narrow = points.between(-1.0, 1.0);
    worst = std::max(worst, ulps(det::exp(wide), std::exp(static_cast<long double>(wide))));
    worst = std::max(worst, ulps(det::exp(narrow), std::exp(static_cast<long double>(narrow))));
  }
  CHECK(worst <= kUlpLimit);
}

TEST_CASE("log is within 2 ulp for all positive numbers and close to 1", "[det_math]") {
  Points points;
  double worst = 0.0;
  for (int i = 0; i < kPoints; ++i) {
    const double any = points.positive_bits();
    const double near = points.near_one();
    worst = std::max(worst, ulps(det::log(any), std::log(static_cast<long double>(any))));
    worst = std::max(worst, ulps(det::log(near), std::log(static_cast<long double>(near))));
  }
  CHECK(worst <= kUlpLimit);
}

double pow_error(double x, double y) {
  return ulps(det::pow(x, y), std::pow(static_cast<long double>(x), static_cast<long double>(y)));
}

TEST_CASE("pow is within 2 ulp over the whole range of results", "[det_math]") {
  Points points;
  double worst = 0.0;
  for (int i = 0; i < kPoints; ++i) {
    const double x = points.positive_bits();
    const double y = points.between(-746.0, 710.0) / std::log(x);  // results from 0 to infinity
    if (std::isfinite(y)) worst = std::max(worst, pow_error(x, y));
    worst = std::max(worst, pow_error(points.between(0.0, 100.0), points.between(-20.0, 20.0)));
  }
  CHECK(worst <= kUlpLimit);
}

TEST_CASE("pow is within 2 ulp for a base close to 1 and a huge exponent", "[det_math]") {
  Points points;
  double worst = 0.0;
  for (int i = 0; i < kPoints; ++i) {
    const double x = points.near_one();
    const double y = points.between(-746.0, 710.0) / std::log(x);
    if (std::isfinite(y)) worst = std::max(worst, pow_error(x, y));
  }
  CHECK(worst <= kUlpLimit);
}

TEST_CASE("a result too coarse by 3 units is seen by the measure", "[det_math]") {
  CHECK(ulps(1.0 + 3 * 0x1p-52, 1.0L) == 3.0);
  CHECK(ulps(3 * kDenormMin, 0.0L) == 3.0);
}

TEST_CASE("exp has exact values at its edges", "[det_math]") {
  CHECK(det::exp(0.0) == 1.0);
  CHECK(det::exp(-0.0) == 1.0);
  CHECK(det::exp(kDenormMin) == 1.0);
  CHECK(det::exp(kInfinity) == kInfinity);
  CHECK(det::exp(-kInfinity) == 0.0);
  CHECK(det::exp(kMax) == kInfinity);
  CHECK(det::exp(-kMax) == 0.0);
  CHECK(std::isnan(det::exp(kNan)));
  // The last argument with a finite result and the next one: ln(2^1024) = 709.78271289338397...
  CHECK(std::isfinite(det::exp(0x1.62e42fefa39efp+9)));
  CHECK(det::exp(0x1.62e42fefa39f0p+9) == kInfinity);
  // The last result above 0, half the least subnormal being the limit: ln(2^-1075) = -745.1332...
  CHECK(det::exp(-745.13) == kDenormMin);
  CHECK(det::exp(-745.14) == 0.0);
}

TEST_CASE("log has exact values at its edges", "[det_math]") {
  CHECK(det::log(1.0) == 0.0);
  CHECK(det::log(0.0) == -kInfinity);
  CHECK(det::log(-0.0) == -kInfinity);
  CHECK(det::log(kInfinity) == kInfinity);
  CHECK(std::isnan(det::log(-1.0)));
  CHECK(std::isnan(det::log(kNan)));
  CHECK(ulps(det::log(kDenormMin), std::log(static_cast<long double>(kDenormMin))) <= kUlpLimit);
  CHECK(ulps(det::log(kMax), std::log(static_cast<long double>(kMax))) <= kUlpLimit);
  CHECK(det::log(1.0 + 0x1p-52) == 0x1p-52 - 0x1p-105);  // ln(1 + x) = x - x^2 / 2 + ...
}

TEST_CASE("pow has the special values of the C standard", "[det_math]") {
  CHECK(det::pow(kNan, 0.0) == 1.0);
  CHECK(det::pow(1.0, kNan) == 1.0);
  CHECK(det::pow(0.0, 2.0) == 0.0);
  CHECK(det::pow(0.0, -2.0) == kInfinity);
  CHECK(det::pow(kInfinity, 0.5) == kInfinity);
  CHECK(det::pow(kInfinity, -0.5) == 0.0);
  CHECK(det::pow(2.0, kInfinity) == kInfinity);
  CHECK(det::pow(0.5, kInfinity) == 0.0);
  CHECK(det::pow(0.5, -kInfinity) == kInfinity);
  CHECK(det::pow(2.0, -kInfinity) == 0.0);
  CHECK(det::pow(2.0, kDenormMin) == 1.0);
  CHECK(det::pow(kDenormMin, 1e300) == 0.0);
  CHECK(std::isnan(det::pow(-2.0, 2.0)));
  CHECK(std::isnan(det::pow(2.0, kNan)));
}

TEST_CASE("pow is exact where the result is a power of two", "[det_math]") {
  for (int n = -1074; n <= 1023; ++n) CHECK(det::pow(2.0, n) == std::ldexp(1.0, n));
  CHECK(det::pow(2.0, 1024.0) == kInfinity);
  CHECK(det::pow(4.0, 0.5) == 2.0);
}

TEST_CASE("results are the recorded bits on every compiler and machine", "[det_math]") {
  CHECK(det::exp(1.0) == 0x1.5bf0a8b145769p+1);
  CHECK(det::log(10.0) == 0x1.26bb1bbb55516p+1);
  CHECK(det::pow(10.0, 0.3) == 0x1.fec982d5bb8afp+0);
  CHECK(det::sqrt(2.0) == 0x1.6a09e667f3bcdp+0);
}

}  // namespace
}  // namespace headroom::det_math_test
