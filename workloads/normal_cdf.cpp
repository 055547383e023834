#include "workloads/normal_cdf.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

#include "sim/kernel/det_math.hpp"

// Cody, "Rational Chebyshev approximations for the error function", Mathematics of Computation 23
// (1969): the minimax fits of his CALERF for |x| up to 0.46875, up to 4, and beyond.

namespace headroom {
namespace {

template <std::size_t size>
using Polynomial = std::array<double, size>;  // highest power first

constexpr Polynomial<5> kErfUp = {1.85777706184603153e-1, 3.16112374387056560e0,
                                  1.13864154151050156e2, 3.77485237685302021e2,
                                  3.20937758913846947e3};
constexpr Polynomial<5> kErfDown = {1.0, 2.36012909523441209e1, 2.44024637934444173e2,
                                    1.28261652607737228e3, 2.84423683343917062e3};
constexpr Polynomial<9> kErfcUp = {
    2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0,
    6.61191906371416295e1,  2.98635138197400131e2,  8.81952221241769090e2,
    1.71204761263407058e3,  2.05107837782607147e3,  1.23033935479799725e3};
constexpr Polynomial<9> kErfcDown = {1.0,
                                     1.57449261107098347e1,
                                     1.17693950891312499e2,
                                     5.37181101862009858e2,
                                     1.62138957456669019e3,
                                     3.29079923573345963e3,
                                     4.36261909014324716e3,
                                     3.43936767414372164e3,
                                     1.23033935480374942e3};
constexpr Polynomial<6> kErfcTailUp = {1.63153871373020978e-2, 3.05326634961232344e-1,
                                       3.60344899949804439e-1, 1.25781726111229246e-1,
                                       1.60837851487422766e-2, 6.58749161529837803e-4};
constexpr Polynomial<6> kErfcTailDown = {1.0,
                                         2.56852019228982242e0,
                                         1.87295284992346725e0,
                                         5.27905102951428412e-1,
                                         6.05183413124413191e-2,
                                         2.33520497626869185e-3};

constexpr double kInverseSqrtPi = 0.56418958354775628695;
constexpr double kInverseSqrt2 = 0.70710678118654752440;

template <std::size_t size>
double ratio(const Polynomial<size>& up, const Polynomial<size>& down, double x) {
  double above = up[0];
  double below = down[0];
  for (std::size_t i = 1; i < size; ++i) {
    above = above * x + up[i];
    below = below * x + down[i];
  }
  return above / below;
}

// e^(-x^2), with x^2 cut so that its first part is exact.
double gauss(double x) {
  const double cut = static_cast<double>(static_cast<std::int64_t>(x * 16.0)) / 16.0;
  return det::exp(-cut * cut) * det::exp(-(x - cut) * (x + cut));
}

// 1 - erf(x) for x > 0.46875
double erfc(double x) {
  if (x <= 4.0) return gauss(x) * ratio(kErfcUp, kErfcDown, x);
  const double y = 1.0 / (x * x);
  return gauss(x) * (kInverseSqrtPi - y * ratio(kErfcTailUp, kErfcTailDown, y)) / x;
}

}  // namespace

double normal_cdf(double z) {
  const double x = z * kInverseSqrt2;
  if (x <= 0.46875 && x >= -0.46875) return 0.5 + 0.5 * x * ratio(kErfUp, kErfDown, x * x);
  if (x > 27.0) return 1.0;
  if (x < -27.0) return 0.0;
  return x < 0.0 ? 0.5 * erfc(-x) : 1.0 - 0.5 * erfc(x);
}

}  // namespace headroom
