// The functions behind the laws, against libm in long double and Boost.Math: both are outside the
// result path.

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <catch2/catch.hpp>
#include <cmath>

#include "workloads/gamma_function.hpp"
#include "workloads/normal_cdf.hpp"
#include "workloads/normal_quantile.hpp"
#include "workloads/small_argument.hpp"

namespace headroom::special_functions_test {
namespace {

double relative(long double value, long double exact) {
  return static_cast<double>(std::abs(value / exact - 1.0L));
}

}  // namespace

TEST_CASE("the gamma function is exact to 1e-12", "[workloads]") {
  double worst = 0.0;
  double worst_log = 0.0;
  for (double x = 1e-3; x < 150.0; x *= 1.003) {
    worst = std::max(worst, relative(gamma_function(x), std::tgamma((long double)x)));
    const long double exact = std::lgamma((long double)x);
    const long double error = std::abs(log_gamma(x) - exact);
    worst_log = std::max(worst_log, double(error / std::max(1.0L, std::abs(exact))));
  }
  CHECK(worst < 1e-12);
  CHECK(worst_log < 1e-13);
  CHECK(gamma_function(1.0) == Approx(1.0).epsilon(1e-14));
  CHECK(gamma_function(11.0) == Approx(3628800.0).epsilon(1e-14));  // 10!
}

TEST_CASE("gamma quantiles are exact in both tails", "[workloads]") {
  for (const double shape : {0.01, 0.1, 0.7, 1.0, 5.0, 300.0, 10'000.0}) {
    double worst = 0.0;
    for (double p = 1e-16; p <= 0.5; p *= 3.7) {
      const long double low = boost::math::gamma_p_inv((long double)shape, (long double)p);
      const long double high = boost::math::gamma_q_inv((long double)shape, (long double)p);
      for (const auto& [tail, exact] : {std::pair{Tail::lower, low}, {Tail::upper, high}}) {
        const long double error = log_gamma_quantile(shape, p, tail) - std::log(exact);
        worst = std::max(worst, static_cast<double>(std::abs(error)));
      }
    }
    CAPTURE(shape);
    CHECK(worst < 1e-11);
  }
}

TEST_CASE("the gamma quantile of shape 1 is the exponential one", "[workloads]") {
  for (const double p : {1e-300, 1e-12, 0.01, 0.5}) {
    CHECK(log_gamma_quantile(1.0, p, Tail::lower) ==
          Approx(std::log(-std::log1p(-p))).epsilon(1e-12));
    CHECK(log_gamma_quantile(1.0, p, Tail::upper) == Approx(std::log(-std::log(p))).epsilon(1e-12));
  }
}

TEST_CASE("the normal distribution function is exact in its lower tail", "[workloads]") {
  for (double z = -37.0; z < 10.0; z += 0.0137) {
    const long double exact = std::erfc(-(long double)z / std::sqrt(2.0L)) / 2.0L;
    const double value = normal_cdf(z);
    CAPTURE(z);
    if (z < 0.0) {
      CHECK(relative(value, exact) < 1e-15 * (1.0 + z * z));
    } else {
      CHECK(std::abs(static_cast<double>(value - exact)) < 1e-15);
    }
  }
  CHECK(normal_cdf(0.0) == 0.5);
  CHECK(normal_cdf(-40.0) == 0.0);
  CHECK(normal_cdf(40.0) == 1.0);
}

TEST_CASE("the normal quantile and distribution function undo each other", "[workloads]") {
  for (int i = 1; i < 10'000; ++i) {
    const double p = i / 1e4;
    CHECK(normal_cdf(normal_quantile(p)) == Approx(p).epsilon(1e-14));
  }
}

TEST_CASE("logarithms and powers near 1 do not cancel", "[workloads]") {
  for (double x = 1e-18; x < 0.9; x *= 1.7) {
    for (const double signed_x : {x, -x}) {
      CAPTURE(signed_x);
      CHECK(relative(log_1_plus(signed_x), std::log1p((long double)signed_x)) < 1e-15);
      CHECK(relative(exp_minus_1(signed_x), std::expm1((long double)signed_x)) < 1e-15);
    }
  }
  CHECK(exp_minus_1(0.0) == 0.0);
  CHECK(exp_minus_1(-60.0) == -1.0);
}

}  // namespace headroom::special_functions_test
