#include "sim/metrics/statistics.hpp"

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>

#include "sim/kernel/check.hpp"
#include "sim/kernel/log_histogram.hpp"

namespace headroom {

namespace {

using Wide = boost::multiprecision::cpp_int;

Wide to_wide(Uint128 value) {
  return (Wide(static_cast<std::uint64_t>(value >> 64)) << 64) | static_cast<std::uint64_t>(value);
}

double rank_of(double p, std::size_t count) { return p / 100.0 * static_cast<double>(count - 1); }

// Answers "which value has rank k" for a set of ranks that are known beforehand.
class RankSelector {
 public:
  RankSelector(std::span<const std::int64_t> values, std::span<const std::size_t> ranks);
  [[nodiscard]] std::int64_t value_of(std::size_t rank);

 private:
  // The values of one histogram bucket that holds a wanted rank.
  struct Group {
    std::size_t bucket = 0;
    std::size_t first_rank = 0;
    std::vector<std::int64_t> values;
  };
  std::vector<Group> groups_;  // by rank
};

// Two passes over the values, then a selection within the few that share a bucket with a result.
RankSelector::RankSelector(std::span<const std::int64_t> values,
                           std::span<const std::size_t> ranks) {
  std::vector<std::uint32_t> counts;
  for (const std::int64_t value : values) {
    const std::size_t bucket = LogHistogram::bucket_index(value);
    if (bucket >= counts.size()) counts.resize(bucket + 1024, 0);
    ++counts[bucket];
  }
  std::vector<std::uint8_t> wanted(counts.size(), 0);  // number of the group, from 1
  std::size_t before = 0;
  auto next = ranks.begin();
  for (std::size_t bucket = 0; bucket < counts.size() && next != ranks.end(); ++bucket) {
    const std::size_t after = before + counts[bucket];
    if (*next < after) {
      groups_.push_back({bucket, before, {}});
      groups_.back().values.reserve(counts[bucket]);
      wanted[bucket] = static_cast<std::uint8_t>(groups_.size());
      while (next != ranks.end() && *next < after) ++next;
    }
    before = after;
  }
  for (const std::int64_t value : values) {
    const std::uint8_t group = wanted[LogHistogram::bucket_index(value)];
    if (group != 0) groups_[group - std::size_t{1}].values.push_back(value);
  }
}

std::int64_t RankSelector::value_of(std::size_t rank) {
  auto group = groups_.end();
  do --group;
  while (group->first_rank > rank);
  const auto at = group->values.begin() + static_cast<std::ptrdiff_t>(rank - group->first_rank);
  std::nth_element(group->values.begin(), at, group->values.end());
  return *at;
}

}  // namespace

std::vector<double> percentiles(std::span<const std::int64_t> values, std::span<const double> p) {
  std::vector<double> results(p.size(), 0.0);
  if (values.empty()) return results;
  HEADROOM_CHECK(p.size() <= 100 && values.size() <= UINT32_MAX, "too many values or percentiles");
  std::vector<std::size_t> ranks;
  for (std::size_t i = 0; i < p.size(); ++i) {
    HEADROOM_CHECK(p[i] >= 0 && p[i] <= 100 && (i == 0 || p[i] >= p[i - 1]),
                   "percentiles are to be in order");
    const auto below = static_cast<std::size_t>(rank_of(p[i], values.size()));
    ranks.push_back(below);
    ranks.push_back(std::min(below + 1, values.size() - 1));
  }
  std::sort(ranks.begin(), ranks.end());
  RankSelector selector(values, ranks);
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double rank = rank_of(p[i], values.size());
    const auto below = static_cast<std::size_t>(rank);
    const auto low = static_cast<double>(selector.value_of(below));
    const std::size_t above = std::min(below + 1, values.size() - 1);
    const auto high = static_cast<double>(selector.value_of(above));
    const double share = rank - static_cast<double>(below);
    // As numpy rounds it (numpy.lib.function_base._lerp).
    results[i] = share < 0.5 ? low + (high - low) * share : high - (high - low) * (1.0 - share);
  }
  return results;
}

// sqrt(count * sum of squares - sum^2) / count, in integers up to the root: nothing cancels.
double population_std(std::int64_t count, Int128 sum, const WideSum& sum_squares) {
  if (count == 0) return 0.0;
  const Wide squares = (Wide(sum_squares.high()) << 128) | to_wide(sum_squares.low());
  const Wide total = to_wide(static_cast<Uint128>(sum < 0 ? -sum : sum));
  const Wide spread = count * squares - total * total;
  HEADROOM_CHECK(spread >= 0, "a sum of squares below what its sum allows");
  return std::sqrt(spread.convert_to<double>()) / static_cast<double>(count);
}

LatencyStats statistics_of(std::span<const std::int64_t> values, double scale) {
  LatencyStats stats;
  if (values.empty()) return stats;
  Int128 sum = 0;
  WideSum squares;
  Uint128 small_squares = 0;
  for (const std::int64_t value : values) {
    HEADROOM_CHECK(value >= 0, "a latency below 0");
    sum += value;
    const auto magnitude = static_cast<std::uint64_t>(value);
    if (magnitude >> 48 == 0) {  // up to 2^32 such squares fit
      small_squares += Uint128{magnitude} * magnitude;
    } else {
      squares.add(magnitude, magnitude);
    }
  }
  squares.add(small_squares, 1);
  const auto count = static_cast<std::int64_t>(values.size());
  stats.mean = static_cast<double>(sum) / static_cast<double>(count) * scale;
  stats.std = population_std(count, sum, squares) * scale;
  constexpr std::array<double, 4> kPercentiles{50, 90, 95, 99};
  const std::vector<double> at = percentiles(values, kPercentiles);
  stats.median = at[0] * scale;
  stats.p90 = at[1] * scale;
  stats.p95 = at[2] * scale;
  stats.p99 = at[3] * scale;
  return stats;
}

}  // namespace headroom
