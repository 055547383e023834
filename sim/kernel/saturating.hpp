#pragma once
// Products of numbers from outside, which may be larger than any real one.

#include <cstdint>

namespace headroom {

// Of factors >= 0: the product, or 2^63 - 1 where it is larger.
[[nodiscard]] constexpr std::int64_t saturating_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

}  // namespace headroom
