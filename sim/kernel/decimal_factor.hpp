#pragma once
// A factor as people write it (0.1, 1.35), exact to the billionth: products and quotients of whole
// numbers are whole-number arithmetic, so that 70 x 1.1 is 77.

#include <fmt/format.h>

#include <cstdint>
#include <string_view>

#include "sim/kernel/errors.hpp"
#include "sim/kernel/time.hpp"

namespace headroom {

class DecimalFactor {
 public:
  // `option` names it in errors: ConfigError outside 0.001 .. `most`, which is at most a million.
  DecimalFactor(double value, double most, std::string_view option) : value_(value) {
    if (!(value >= kLeast && value <= most)) {  // nan is neither
      throw ConfigError(fmt::format("{} is {}; allowed: {} .. {}", option, value, kLeast, most));
    }
    billionths_ = static_cast<std::int64_t>(value * 1e9 + 0.5);
  }

  [[nodiscard]] bool is_one() const { return billionths_ == kBillion; }
  [[nodiscard]] double value() const { return value_; }
  // To the nearest whole number, halves up; `number` >= 0.
  [[nodiscard]] Int128 product(std::int64_t number) const {
    return (static_cast<Int128>(number) * billionths_ + kBillion / 2) / kBillion;
  }
  [[nodiscard]] Int128 quotient(std::int64_t number) const {
    return (static_cast<Int128>(number) * kBillion + billionths_ / 2) / billionths_;
  }

 private:
  static constexpr double kLeast = 0.001;
  static constexpr std::int64_t kBillion = 1'000'000'000;

  double value_;
  std::int64_t billionths_ = 0;
};

}  // namespace headroom
