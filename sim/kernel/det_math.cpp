#include "sim/kernel/det_math.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "sim/kernel/likely.hpp"

// Notation: a Pair is an unevaluated sum hi + lo with |lo| <= ulp(hi) / 2, about 106 bits.
// Error-free sums and products after Dekker (1971) and Knuth; log is computed to ~2^-70 as a Pair
// for pow.

namespace headroom::det {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// ln 2 in parts of 40 bits: k * part is exact for |k| < 2^13.
constexpr double kLn2High = 0x1.62e42fefa2p-1;
constexpr double kLn2Middle = 0x1.9ef35793c6p-41;
constexpr double kLn2Low = 0x1.673007e5ed5e8p-81;
constexpr double kLn2Rest = 0x1.9ef35793c7673p-41;  // ln 2 - kLn2High as one double
constexpr double kLog2E = 0x1.71547652b82fep+0;

struct Pair {
  double hi = 0.0;
  double lo = 0.0;
};

// Exact if |a| >= |b| or a == 0.
Pair quick_sum(double a, double b) {
  const double s = a + b;
  return {s, b - (s - a)};
}

Pair exact_sum(double a, double b) {
  const double s = a + b;
  const double t = s - a;
  return {s, (a - (s - t)) + (b - t)};
}

// Into two halves of at most 26 bits; |a| < 2^996.
Pair split(double a) {
  const double t = 134217729.0 * a;  // 2^27 + 1
  const double hi = t - (t - a);
  return {hi, a - hi};
}

Pair exact_product(double a, double b) {
  const double p = a * b;
  const Pair x = split(a);
  const Pair y = split(b);
  return {p, ((x.hi * y.hi - p) + x.hi * y.lo + x.lo * y.hi) + x.lo * y.lo};
}

Pair product(const Pair& a, const Pair& b) {
  const Pair p = exact_product(a.hi, b.hi);
  return quick_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

// x = mantissa * 2^exponent with the mantissa in [sqrt(1/2), sqrt(2)); x finite and > 0.
struct Decomposed {
  double mantissa = 1.0;
  std::int64_t exponent = 0;
};

Decomposed decompose(double x) {
  std::int64_t exponent = 0;
  if (rarely(x < 0x1p-1022)) {  // subnormal
    x *= 0x1p54;
    exponent = -54;
  }
  constexpr std::uint64_t kFractionMask = (std::uint64_t{1} << 52) - 1;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  exponent += static_cast<std::int64_t>(bits >> 52) - 1023;
  // From sqrt(2) on half of it. Without a branch, which could not be foreseen.
  const std::uint64_t fraction = bits & kFractionMask;
  const std::uint64_t halves = fraction >= 0x6a09e667f3bcd ? 1 : 0;
  exponent += static_cast<std::int64_t>(halves);
  return {std::bit_cast<double>(fraction | ((1023 - halves) << 52)), exponent};
}

double power_of_two(std::int64_t exponent) {  // -1022 .. 1023
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

// value * 2^exponent, rounded once; value in [0.5, 2), |exponent| <= 1100.
double scaled(double value, std::int64_t exponent) {
  if (exponent > 1023) return value * power_of_two(1023) * power_of_two(exponent - 1023);
  if (exponent < -1021) return value * power_of_two(exponent + 200) * power_of_two(-200);
  return value * power_of_two(exponent);
}

// e^(hi + lo), |lo| <= ulp(hi). With hi + lo = k ln 2 + r, |r| < 0.347, the Taylor series of e^r
// ends after r^14: the rest is below 2^-62.
double exp_of_pair(double hi, double lo) {
  if (hi > 710.0) return kInfinity;
  if (hi < -746.0) return 0.0;
  const auto k = static_cast<std::int64_t>(hi * kLog2E + (hi < 0.0 ? -0.5 : 0.5));
  const auto k_value = static_cast<double>(k);
  const Pair r = exact_sum(hi - k_value * kLn2High, lo - k_value * kLn2Rest);
  const double x = r.hi;
  const double xx = x * x;  // even and odd powers apart: two short chains instead of a long one
  double even = 1.0 / 87178291200.0;  // 1 / 14!
  even = even * xx + 1.0 / 479001600.0;
  even = even * xx + 1.0 / 3628800.0;
  even = even * xx + 1.0 / 40320.0;
  even = even * xx + 1.0 / 720.0;
  even = even * xx + 1.0 / 24.0;
  even = even * xx + 0.5;
  double odd = 1.0 / 6227020800.0;  // 1 / 13!
  odd = odd * xx + 1.0 / 39916800.0;
  odd = odd * xx + 1.0 / 362880.0;
  odd = odd * xx + 1.0 / 5040.0;
  odd = odd * xx + 1.0 / 120.0;
  odd = odd * xx + 1.0 / 6.0;
  const double q = even + x * odd;
  const Pair sum = quick_sum(1.0, x);
  return scaled(sum.hi + (sum.lo + (r.lo + q * xx)), k);
}

// ln(1 + f) = 2 atanh(s) with s = f / (2 + f), so |s| < 0.172: 2 s (1 + z/3 + z^2/5 + ...), z =
// s^2. The series ends where the rest is below 2^-60 (log) or 2^-70 (log_pair) of the result.
double log_of_mantissa_rest(double z) {  // 2 z (1/3 + z/5 + ...)
  const double zz = z * z;
  double even = 2.0 / 23.0;
  even = even * zz + 2.0 / 19.0;
  even = even * zz + 2.0 / 15.0;
  even = even * zz + 2.0 / 11.0;
  even = even * zz + 2.0 / 7.0;
  even = even * zz + 2.0 / 3.0;
  double odd = 2.0 / 21.0;
  odd = odd * zz + 2.0 / 17.0;
  odd = odd * zz + 2.0 / 13.0;
  odd = odd * zz + 2.0 / 9.0;
  odd = odd * zz + 2.0 / 5.0;
  return (even + z * odd) * z;
}

Pair log_pair(double x) {  // x finite and > 0
  const auto [mantissa, exponent] = decompose(x);
  const double f = mantissa - 1.0;  // exact
  const Pair d = exact_sum(mantissa, 1.0);
  const double s_hi = f / d.hi;
  const Pair back = exact_product(s_hi, d.hi);
  const Pair s = quick_sum(s_hi, (((f - back.hi) - back.lo) - s_hi * d.lo) / d.hi);
  const Pair z = product(s, s);
  double q = 1.0 / 27.0;
  for (int n = 25; n >= 7; n -= 2) q = q * z.hi + 1.0 / n;
  const Pair fifth = quick_sum(0x1.999999999999ap-3, z.hi * q);  // 1/5 as a Pair, and the rest
  const Pair from_fifth{fifth.hi, fifth.lo - 0x1.999999999999ap-57};
  const Pair scaled_fifth = product(z, from_fifth);
  const Pair third = quick_sum(0x1.5555555555555p-2, scaled_fifth.hi);  // 1/3 likewise
  const Pair from_third{third.hi, third.lo + (scaled_fifth.lo + 0x1.5555555555555p-56)};
  const Pair rest = product(s, product(z, from_third));
  const Pair half = quick_sum(s.hi, rest.hi);
  const Pair log_mantissa = quick_sum(2.0 * half.hi, 2.0 * (half.lo + (s.lo + rest.lo)));

  const auto k = static_cast<double>(exponent);
  const Pair high = exact_sum(k * kLn2High, log_mantissa.hi);
  const Pair middle = exact_sum(high.lo, k * kLn2Middle);
  return quick_sum(high.hi, middle.hi + (middle.lo + (log_mantissa.lo + k * kLn2Low)));
}

}  // namespace

double sqrt(double x) { return std::sqrt(x); }

double exp(double x) {
  if (x != x) return kNan;
  return exp_of_pair(x, 0.0);
}

double log(double x) {
  if (!(x > 0.0)) return x == 0.0 ? -kInfinity : kNan;
  if (x == kInfinity) return kInfinity;
  const auto [mantissa, exponent] = decompose(x);
  // ln(1 + f) = f - (h - s (h + rest)), h = f^2 / 2: f is exact and the correction small.
  const double f = mantissa - 1.0;
  const double s = f / (2.0 + f);
  const double h = 0.5 * f * f;
  const auto k = static_cast<double>(exponent);
  const double correction = h - (s * (h + log_of_mantissa_rest(s * s)) + k * kLn2Rest);
  return k * kLn2High - (correction - f);
}

double pow(double x, double y) {
  if (x == 1.0 || y == 0.0) return 1.0;
  if (x != x || y != y || x < 0.0) return kNan;
  const bool grows = (x > 1.0) == (y > 0.0);
  if (x == 0.0 || x == kInfinity) return grows ? kInfinity : 0.0;
  // |log x| is in [2^-54, 746): beyond these bounds the result is 0 or infinite, or within half an
  // ulp of 1.
  if (y > 0x1p64 || y < -0x1p64) return grows ? kInfinity : 0.0;
  if (y < 0x1p-64 && y > -0x1p-64) return 1.0;
  const Pair l = log_pair(x);
  const Pair p = exact_product(l.hi, y);
  const Pair power = quick_sum(p.hi, p.lo + l.lo * y);
  return exp_of_pair(power.hi, power.lo);
}

}  // namespace headroom::det
