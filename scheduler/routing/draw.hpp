#pragma once
// One draw per decision, whatever it decides: two fleets that differ in one setting stay aligned.

#include <cstdint>

#include "sim/kernel/time.hpp"

namespace headroom {

// A point of [0, range) from uniform bits; its bias is below range / 2^64.
[[nodiscard]] inline std::int64_t scaled(std::uint64_t bits, std::int64_t range) {
  return static_cast<std::int64_t>(
      static_cast<std::uint64_t>((Uint128{bits} * static_cast<std::uint64_t>(range)) >> 64));
}

}  // namespace headroom
