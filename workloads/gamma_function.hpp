#pragma once
// The gamma function, its incomplete form and the inverse of that, without libm but det_math: the
// same bits on every machine. Logarithms throughout, so that neither a wide law's quantiles nor a
// tail's probability underflows.

namespace headroom {

// ln Gamma(x), x > 0. Error below 1e-13 * max(1, |result|).
[[nodiscard]] double log_gamma(double x);
// Relative error below 1e-12 for x in 1e-3 .. 150.
[[nodiscard]] double gamma_function(double x);

// Which side of a quantile a probability lies on: the law's tail below it, or above it. A small
// probability of either tail keeps its precision.
enum class Tail : bool { lower, upper };

// ln of the quantile of the gamma law with `shape` and scale 1: of the value that leaves
// `probability` in `tail`. probability in (0, 1/2]: take the other tail for more; shape in
// kMinGammaShape .. kMaxGammaShape. Absolute error below 1e-11, so the quantile's relative one.
[[nodiscard]] double log_gamma_quantile(double shape, double probability, Tail tail);

inline constexpr double kMinGammaShape = 0.01;
inline constexpr double kMaxGammaShape = 10'000.0;

}  // namespace headroom
