#include "workloads/gamma_function.hpp"

#include <algorithm>

#include "sim/kernel/check.hpp"
#include "sim/kernel/det_math.hpp"

namespace headroom {
namespace {

constexpr double kHalfLogTwoPi = 0.91893853320467274178;
constexpr double kStirlingFrom = 16.0;  // here the series below ends under 1e-17
constexpr double kPrecision = 1e-17;    // of a series: smaller terms are not added
constexpr int kMaxTerms = 100'000;      // shapes up to 1e4 need about 1,000

// ln Gamma(x) for x >= kStirlingFrom: Abramowitz and Stegun 6.1.41, B_2k / (2k (2k - 1) x^(2k-1)).
double stirling(double x) {
  const double y = 1.0 / (x * x);
  double sum = -3617.0 / 122400.0;
  sum = sum * y + 1.0 / 156.0;
  sum = sum * y - 691.0 / 360360.0;
  sum = sum * y + 1.0 / 1188.0;
  sum = sum * y - 1.0 / 1680.0;
  sum = sum * y + 1.0 / 1260.0;
  sum = sum * y - 1.0 / 360.0;
  sum = sum * y + 1.0 / 12.0;
  return (x - 0.5) * det::log(x) - x + kHalfLogTwoPi + sum / x;
}

// The gamma law of scale 1, at x = e^log_x.
struct GammaTails {
  double log_density = 0.0;  // of ln x
  double log_lower = 0.0;    // ln P(shape, x)
  double log_upper = 0.0;    // ln Q(shape, x) = ln(1 - P)
};

// Abramowitz and Stegun 6.5.29: P = x^a e^-x / Gamma(a + 1) * (1 + x/(a+1) + x^2/(a+1)(a+2) + ...).
double lower_series(double shape, double x) {
  double term = 1.0;
  double sum = 1.0;
  for (int n = 1; n < kMaxTerms && term > kPrecision * sum; ++n) {
    term *= x / (shape + n);
    sum += term;
  }
  return sum;
}

// The continued fraction of Q * Gamma(a) * e^x / x^a (Abramowitz and Stegun 6.5.31, even part), by
// the modified Lentz method: Press et al., Numerical Recipes (1992), 6.2. x > a + 1, so no
// denominator is 0.
double upper_fraction(double shape, double x) {
  double b = x + 1.0 - shape;
  double c = 1e300;
  double d = 1.0 / b;
  double fraction = d;
  for (int n = 1; n < kMaxTerms; ++n) {
    const double a = -n * (n - shape);
    b += 2.0;
    d = 1.0 / (a * d + b);
    c = b + a / c;
    const double factor = c * d;
    fraction *= factor;
    if (factor - 1.0 < 2e-16 && factor - 1.0 > -2e-16) break;
  }
  return fraction;
}

// `log_gamma_of_shape` = ln Gamma(shape).
GammaTails tails_at(double shape, double log_gamma_of_shape, double log_x) {
  const double x = det::exp(log_x);
  GammaTails tails;
  tails.log_density = shape * log_x - x - log_gamma_of_shape;
  if (x < shape + 1.0) {
    tails.log_lower = tails.log_density - det::log(shape) + det::log(lower_series(shape, x));
    tails.log_upper = det::log(1.0 - std::min(det::exp(tails.log_lower), 1.0));
  } else {
    tails.log_upper = tails.log_density + det::log(upper_fraction(shape, x));
    tails.log_lower = det::log(1.0 - std::min(det::exp(tails.log_upper), 1.0));
  }
  return tails;
}

}  // namespace

double log_gamma(double x) {
  HEADROOM_CHECK(x > 0.0, "the gamma function is used above 0 only");
  // Gamma(x) = Gamma(x + n) / (x (x + 1) ... (x + n - 1)); the product stays below 1e14.
  double product = 1.0;
  for (; x < kStirlingFrom; x += 1.0) product *= x;
  return stirling(x) - det::log(product);
}

double gamma_function(double x) { return det::exp(log_gamma(x)); }

// Newton's method for ln P(e^y) = ln p, and for ln Q likewise. Both are concave in y (the density
// of y = ln x is log-concave), so that from below the root of ln P, and from above that of ln Q,
// the steps approach the root from one side and never pass it.
double log_gamma_quantile(double shape, double probability, Tail tail) {
  HEADROOM_CHECK(
      shape >= kMinGammaShape && shape <= kMaxGammaShape && probability > 0.0 && probability <= 0.5,
      "a gamma quantile outside the range of its method");
  const double log_gamma_of_shape = log_gamma(shape);
  const double log_probability = det::log(probability);
  const bool lower = tail == Tail::lower;
  double y = 0.0;
  if (lower) {
    // P < x^a / Gamma(a + 1), as every factor of the series' terms is at most x / n.
    y = (log_probability + log_gamma_of_shape + det::log(shape)) / shape;
  } else {
    // Q(a + sqrt(2 a t) + t) <= e^-t: Boucheron, Lugosi and Massart, Concentration Inequalities
    // (2013), 2.4.
    y = det::log(shape + det::sqrt(-2.0 * shape * log_probability) - log_probability);
  }
  for (int i = 0; i < 200; ++i) {
    const GammaTails tails = tails_at(shape, log_gamma_of_shape, y);
    const double log_tail = lower ? tails.log_lower : tails.log_upper;
    const double slope = det::exp(tails.log_density - log_tail);
    const double step = (log_probability - log_tail) / (lower ? slope : -slope);
    y += step;
    if (step < 1e-12 && step > -1e-12) break;
  }
  return y;
}

}  // namespace headroom
