#pragma once
// The inverse of the standard normal distribution function: Wichura, "Algorithm AS 241: the
// percentage points of the normal distribution", Applied Statistics 37 (1988), PPND16; relative
// accuracy about 1e-16. One uniform draw gives one normal value, which rejection methods cannot do;
// no libm but det_math.

namespace headroom {

[[nodiscard]] double normal_quantile(double probability);  // in (0, 1)

}  // namespace headroom
