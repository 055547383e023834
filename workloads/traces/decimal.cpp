#include "workloads/traces/decimal.hpp"

#include <algorithm>
#include <cstddef>

#include "sim/kernel/time.hpp"

namespace headroom {
namespace {

bool is_digit(char c) { return static_cast<std::uint32_t>(c - '0') <= 9; }

// mantissa * 10^exponent
struct Decimal {
  bool negative = false;
  std::uint64_t mantissa = 0;
  std::int32_t exponent = 0;
};

// Digits beyond the 19th are dropped where they stand behind the point; they are below any unit.
constexpr std::uint64_t kFullMantissa = UINT64_MAX / 10 - 1;

bool read_digits(std::string_view text, std::size_t& at, Decimal& number, bool fraction) {
  const std::size_t begin = at;
  for (; at < text.size() && is_digit(text[at]); ++at) {
    if (number.mantissa > kFullMantissa) {
      if (!fraction) return false;
      continue;
    }
    number.mantissa = number.mantissa * 10 + static_cast<std::uint64_t>(text[at] - '0');
    if (fraction) --number.exponent;
  }
  return at != begin;
}

bool read_exponent(std::string_view text, std::size_t& at, Decimal& number) {
  ++at;  // e
  bool negative = false;
  if (at < text.size() && (text[at] == '+' || text[at] == '-')) negative = text[at++] == '-';
  const std::size_t begin = at;
  std::int32_t value = 0;
  for (; at < text.size() && is_digit(text[at]); ++at) {
    value = std::min(value * 10 + (text[at] - '0'), 10'000);
  }
  number.exponent += negative ? -value : value;
  return at != begin;
}

std::optional<Decimal> read_decimal(std::string_view text) {
  Decimal number;
  std::size_t at = 0;
  if (!text.empty() && text[0] == '-') {
    number.negative = true;
    ++at;
  }
  if (!read_digits(text, at, number, false)) return std::nullopt;
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (!read_digits(text, at, number, true)) return std::nullopt;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    if (!read_exponent(text, at, number)) return std::nullopt;
  }
  if (at != text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<std::int64_t> parse_scaled_decimal(std::string_view text, std::int64_t scale) {
  const std::optional<Decimal> number = read_decimal(text);
  if (!number) return std::nullopt;
  Uint128 value = static_cast<Uint128>(number->mantissa) * static_cast<Uint128>(scale);
  std::int32_t exponent = number->exponent;
  for (; exponent > 0 && value != 0; --exponent) {
    value *= 10;
    if (value > static_cast<Uint128>(INT64_MAX)) return std::nullopt;
  }
  // Only the first digit dropped decides the rounding, so it is dropped last.
  for (; exponent < -1 && value != 0; ++exponent) value /= 10;
  if (exponent == -1) value = (value + 5) / 10;
  if (value > static_cast<Uint128>(INT64_MAX)) return std::nullopt;
  const auto magnitude = static_cast<std::int64_t>(value);
  return number->negative ? -magnitude : magnitude;
}

std::optional<std::int32_t> parse_count(std::string_view text) {
  std::size_t at = 0;
  std::int64_t value = 0;
  for (; at < text.size() && is_digit(text[at]); ++at) {
    value = value * 10 + (text[at] - '0');
    if (value > INT32_MAX) return std::nullopt;
  }
  if (at == 0) return std::nullopt;
  if (at < text.size()) {
    if (text[at] != '.' || ++at == text.size()) return std::nullopt;
    for (; at < text.size(); ++at) {
      if (text[at] != '0') return std::nullopt;
    }
  }
  return static_cast<std::int32_t>(value);
}

}  // namespace headroom
