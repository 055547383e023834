#pragma once
// Statistics of integers as numpy defines them, exact up to the last rounding to double.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/kernel/time.hpp"
#include "sim/kernel/wide_sum.hpp"

namespace headroom {

// Percentiles p (in [0, 100], ascending) of `values` by linear interpolation between closest ranks
// (numpy's default), exact; no sort. Values >= 0; all 0 when there are none.
[[nodiscard]] std::vector<double> percentiles(std::span<const std::int64_t> values,
                                              std::span<const double> p);

// Standard deviation of a population of `count` values with these sums; 0 when count is 0.
[[nodiscard]] double population_std(std::int64_t count, Int128 sum, const WideSum& sum_squares);

// Mean, median, population std and the percentiles that `vllm bench serve` can report, in the unit
// of the values times `scale`. All 0 for no values, as there.
struct LatencyStats {
  double mean = 0;
  double median = 0;
  double std = 0;
  double p90 = 0;
  double p95 = 0;
  double p99 = 0;
};
// Values >= 0.
[[nodiscard]] LatencyStats statistics_of(std::span<const std::int64_t> values, double scale);

// The same of all values and of each part of them, in two passes; part i ends at `ends`[i], the
// last one with the values.
struct StatisticsByPart {
  LatencyStats all;
  std::vector<LatencyStats> parts;
};
[[nodiscard]] StatisticsByPart statistics_by_part(std::span<const std::int64_t> values,
                                                  std::span<const std::size_t> ends, double scale);

}  // namespace headroom
