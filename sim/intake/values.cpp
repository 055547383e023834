#include "sim/intake/values.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "hardware/budget/budget.hpp"

namespace headroom {
namespace {

constexpr double kLargestExact = 9007199254740992.0;  // 2^53: beyond it a double skips integers

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return result;
}

double power(double base, std::size_t exponent) {
  double result = 1;
  for (std::size_t i = 0; i < exponent; ++i) result *= base;
  return result;
}

}  // namespace

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
  return value;
}

std::optional<double> decimal_number(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc{} || read.ptr != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<std::int64_t> human_number(std::string_view text) {
  text = trimmed(text);
  if (text.empty()) return std::nullopt;
  const char suffix = text.back();
  constexpr std::string_view kDecimal = "kmgt";
  constexpr std::string_view kBinary = "KMGT";
  const std::size_t decimal = kDecimal.find(suffix);
  const std::size_t binary = kBinary.find(suffix);
  const std::string_view digits = text.substr(0, text.size() - 1);
  if (decimal == std::string_view::npos && binary == std::string_view::npos) {
    return whole_number(text);
  }
  if (digits.empty() || digits.front() == '-') return std::nullopt;
  double number = 0;
  if (binary != std::string_view::npos) {
    const std::optional<std::int64_t> whole = whole_number(digits);
    if (!whole) return std::nullopt;
    number = static_cast<double>(*whole) * power(1024, binary + 1);
  } else {
    const std::optional<double> value = decimal_number(digits);
    if (!value) return std::nullopt;
    number = *value * power(1000, decimal + 1);
  }
  if (number > kLargestExact) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

std::optional<double> container_bytes(std::string_view text) {
  const std::string word = lower(trimmed(text));
  const std::size_t unit_at = std::min(word.find_first_not_of("0123456789."), word.size());
  const std::optional<double> number = decimal_number(word.substr(0, unit_at));
  if (!number || *number < 0) return std::nullopt;
  std::string_view unit = trimmed(std::string_view(word).substr(unit_at));
  constexpr std::string_view kUnits = "kmgtp";
  if (unit.empty() || unit == "b") return *number;
  const std::size_t exponent = kUnits.find(unit.front());
  unit.remove_prefix(1);
  if (exponent == std::string_view::npos || (!unit.empty() && unit != "b" && unit != "ib")) {
    return std::nullopt;
  }
  return *number * power(1024, exponent + 1);
}

Json gib(double bytes) {
  // Not gib_from_bytes: a text may name parts of bytes, or more of them than an integer holds.
  const double value = bytes / static_cast<double>(bytes_from_gib(1));
  if (value < kLargestExact && value == static_cast<double>(static_cast<std::int64_t>(value))) {
    return static_cast<std::int64_t>(value);
  }
  return value;
}

std::optional<bool> switch_value(std::string_view text) {
  constexpr std::array<std::string_view, 7> kOn{"true", "on", "yes", "1", "enabled", "t", "y"};
  constexpr std::array<std::string_view, 7> kOff{"false", "off", "no", "0", "disabled", "f", "n"};
  const std::string word = lower(trimmed(text));
  if (std::ranges::find(kOn, word) != kOn.end()) return true;
  if (std::ranges::find(kOff, word) != kOff.end()) return false;
  return std::nullopt;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

}  // namespace headroom
