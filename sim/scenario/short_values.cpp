#include "sim/scenario/short_values.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <string>

namespace headroom {
namespace {

struct Suffix {
  std::string_view name;  // in lower case
  double factor;
};

constexpr double kKi = 1024;
constexpr std::array kSeconds{Suffix{"us", 1e-6}, Suffix{"ms", 1e-3}, Suffix{"s", 1},
                              Suffix{"sec", 1},   Suffix{"m", 60},    Suffix{"min", 60},
                              Suffix{"h", 3600},  Suffix{"d", 86'400}};
constexpr std::array kRates{Suffix{"/s", 1},          Suffix{"rps", 1},         Suffix{"qps", 1},
                            Suffix{"/min", 1.0 / 60}, Suffix{"/h", 1.0 / 3600}, Suffix{"k", 1e3},
                            Suffix{"m", 1e6}};
constexpr std::array kSizes{Suffix{"k", kKi},
                            Suffix{"kib", kKi},
                            Suffix{"m", kKi* kKi},
                            Suffix{"mib", kKi* kKi},
                            Suffix{"g", kKi* kKi* kKi},
                            Suffix{"gib", kKi* kKi* kKi},
                            Suffix{"t", kKi* kKi* kKi* kKi},
                            Suffix{"tib", kKi* kKi* kKi* kKi}};
constexpr std::array kTokenCounts{Suffix{"k", kKi}, Suffix{"m", kKi* kKi}};
constexpr std::array kCounts{Suffix{"k", 1e3}, Suffix{"m", 1e6}};
constexpr std::array kPerCent{Suffix{"%", 0.01}};

// What a number of `unit` may end in, and the size of that unit in the suffixes' own.
struct Family {
  std::span<const Suffix> suffixes;
  double unit = 1;
};

Family family_of(std::string_view unit, const Bounds& bounds) {
  if (unit == "s") return {kSeconds, 1};
  if (unit == "ms") return {kSeconds, 1e-3};
  if (unit == "us") return {kSeconds, 1e-6};
  if (unit == "GiB") return {kSizes, kKi * kKi * kKi};
  if (unit == "bytes") return {kSizes, 1};
  if (unit == "tokens") return {kTokenCounts, 1};
  if (unit == "requests/s") return {kRates, 1};
  if (bounds.low >= 0 && bounds.high <= 1) return {kPerCent, 1};
  return {kCounts, 1};
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::optional<double> short_number(std::string_view text, std::string_view unit,
                                   const Bounds& bounds) {
  if (text.empty() || std::string_view("0123456789.").find(text.front()) == text.npos) {
    return std::nullopt;  // no sign, nan or inf
  }
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop == end) return std::nullopt;
  std::string suffix(text.substr(static_cast<std::size_t>(stop - text.data())));
  suffix.erase(0, suffix.find_first_not_of(' '));
  std::ranges::transform(suffix, suffix.begin(), lower);
  const Family family = family_of(unit, bounds);
  const auto found = std::ranges::find(family.suffixes, suffix, &Suffix::name);
  if (found == family.suffixes.end()) return std::nullopt;
  return number * found->factor / family.unit;
}

}  // namespace headroom
