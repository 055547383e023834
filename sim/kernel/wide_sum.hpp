#pragma once
// An exact unsigned sum of 192 bits, for sums of squares of ticks: 2^40 squares of gaps of up to
// 2^64 ticks (4.9 h) fit with room to spare, so variances are computed from integers, and cutting a
// run anywhere does not change them.

#include <bit>
#include <cstdint>

#include "sim/kernel/check.hpp"
#include "sim/kernel/likely.hpp"
#include "sim/kernel/time.hpp"

namespace headroom {

class WideSum {
 public:
  // Adds value * times, exactly. The sum must stay below 2^192.
  void add(Uint128 value, std::uint64_t times) {
    const Uint128 low_product = Uint128{static_cast<std::uint64_t>(value)} * times;
    const Uint128 high_product = Uint128{static_cast<std::uint64_t>(value >> 64)} * times;
    auto carry = static_cast<std::uint64_t>(high_product >> 64);  // < 2^64 - 1: has room
    carry += add_low(low_product);
    const std::uint64_t second = add_low(high_product << 64);
    HEADROOM_CHECK(carry <= UINT64_MAX - second && high_ <= UINT64_MAX - (carry + second),
                   "a sum exceeds 192 bits");
    high_ += carry + second;
  }

  // The same of a product that fits.
  void add(Uint128 product) {
    const std::uint64_t carry = add_low(product);
    HEADROOM_CHECK(high_ <= UINT64_MAX - carry, "a sum exceeds 192 bits");
    high_ += carry;
  }

  void add(const WideSum& other) {
    const std::uint64_t carry = add_low(other.low_);
    HEADROOM_CHECK(high_ <= UINT64_MAX - other.high_ && high_ + other.high_ <= UINT64_MAX - carry,
                   "a sum exceeds 192 bits");
    high_ += other.high_ + carry;
  }

  [[nodiscard]] Uint128 low() const { return low_; }
  [[nodiscard]] std::uint64_t high() const { return high_; }

  // The nearest double, ties to even.
  [[nodiscard]] double to_double() const;

  friend constexpr bool operator==(const WideSum& a, const WideSum& b) {
    return a.low_ == b.low_ && a.high_ == b.high_;
  }

 private:
  std::uint64_t add_low(Uint128 value) {  // returns the carry
    return __builtin_add_overflow(low_, value, &low_) ? 1 : 0;
  }

  Uint128 low_ = 0;
  std::uint64_t high_ = 0;
};

inline double WideSum::to_double() const {
  // The 64 leading bits, the last of them set if anything below is: enough for one correct
  // rounding.
  Uint128 top = low_;
  int shift = 0;
  bool rest = false;
  if (high_ != 0) {
    top = (Uint128{high_} << 64) | (low_ >> 64);
    rest = static_cast<std::uint64_t>(low_) != 0;
    shift = 64;
  }
  const auto upper = static_cast<std::uint64_t>(top >> 64);
  const int drop = 64 - std::countl_zero(upper);  // bits of `top` above its low 64
  if (drop > 0) {
    rest = rest || (top & ((Uint128{1} << drop) - 1)) != 0;
    top >>= drop;
    shift += drop;
  }
  const std::uint64_t leading = static_cast<std::uint64_t>(top) | (rest ? 1U : 0U);
  double scale = 1.0;
  for (int i = 0; i < shift; ++i) scale *= 2.0;
  return static_cast<double>(leading) * scale;
}

}  // namespace headroom
