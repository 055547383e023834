#pragma once
// Percentiles that say less than their name, for want of values.

#include <cstdint>
#include <string_view>

namespace headroom {

// The rule: a percentile p needs at least 1 / (1 - p) values, or on average none lies beyond it.
inline constexpr std::int64_t kValuesForP90 = 10;
inline constexpr std::int64_t kValuesForP95 = 20;
inline constexpr std::int64_t kValuesForP99 = 100;

// Of those that results show, the ones that `count` values do not support; empty: none. Of no
// values there are no percentiles.
[[nodiscard]] constexpr std::string_view thin_percentiles(std::int64_t count) {
  if (count == 0 || count >= kValuesForP99) return "";
  if (count >= kValuesForP95) return "p99";
  return count >= kValuesForP90 ? "p95 and p99" : "p90, p95 and p99";
}

}  // namespace headroom
