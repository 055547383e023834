#pragma once
// exp, log and pow that return the same bits on every compiler, optimisation level and machine:
// only + - * / and sqrt (all correctly rounded by IEEE 754), no libm, no contraction into FMA.
// Accuracy: at most 2 ulp over the whole range, subnormal numbers included (tests/unit/kernel).

namespace headroom::det {

[[nodiscard]] double exp(double x);            // overflow to +inf, underflow to 0, nan to nan
[[nodiscard]] double log(double x);            // x > 0; log(0) = -inf, negative = nan
[[nodiscard]] double pow(double x, double y);  // x >= 0 (below: nan); special values as in C
[[nodiscard]] double sqrt(double x);           // IEEE sqrt, correctly rounded

}  // namespace headroom::det
