#pragma once
// How large a difference is, whatever its sign; no libm.

namespace headroom {

[[nodiscard]] constexpr double size_of(double value) { return value < 0 ? -value : value; }

}  // namespace headroom
