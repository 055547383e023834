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

// A set of histogram buckets, in so little memory that it stays in the nearest cache.
class BucketSet {
 public:
  void insert(std::size_t bucket) {
    if (bucket / 64 >= bits_.size()) bits_.resize(bucket / 64 + 1, 0);
    bits_[bucket / 64] |= std::uint64_t{1} << (bucket % 64);
  }
  [[nodiscard]] bool contains(std::size_t bucket) const {
    return bucket / 64 < bits_.size() && (bits_[bucket / 64] >> (bucket % 64) & 1) != 0;
  }

 private:
  std::vector<std::uint64_t> bits_;
};

// Answers "which value has rank k" for a set of ranks, in two passes over the values: one counts
// them by buckets, the other keeps the few that share a bucket with a wanted rank.
class RankSelector {
 public:
  void count(std::int64_t value) {
    const std::size_t bucket = LogHistogram::bucket_index(value);
    if (bucket >= counts_.size()) [[unlikely]] {
      counts_.resize(bucket + 1024, 0);
    }
    ++counts_[bucket];
  }
  // All that `other` has counted.
  void count_all(const RankSelector& other);
  // Behind the first pass: `ranks` in order, each below the number of values. Buckets whose values
  // are to be kept are added to `wanted`.
  void want(std::span<const std::size_t> ranks, BucketSet& wanted);
  // Those of other buckets are not kept.
  void keep(std::size_t bucket, std::int64_t value);
  [[nodiscard]] std::int64_t value_of(std::size_t rank);

 private:
  // The values of one histogram bucket that holds a wanted rank.
  struct Group {
    std::size_t bucket = 0;
    std::size_t first_rank = 0;
    std::vector<std::int64_t> values;
  };
  std::vector<std::uint32_t> counts_;  // by bucket
  std::vector<Group> groups_;          // by rank
};

void RankSelector::count_all(const RankSelector& other) {
  if (counts_.size() < other.counts_.size()) counts_.resize(other.counts_.size(), 0);
  for (std::size_t i = 0; i < other.counts_.size(); ++i) counts_[i] += other.counts_[i];
}

void RankSelector::want(std::span<const std::size_t> ranks, BucketSet& wanted) {
  std::size_t before = 0;
  auto next = ranks.begin();
  for (std::size_t bucket = 0; bucket < counts_.size() && next != ranks.end(); ++bucket) {
    const std::size_t after = before + counts_[bucket];
    if (*next < after) {
      wanted.insert(bucket);
      groups_.push_back({bucket, before, {}});
      groups_.back().values.reserve(counts_[bucket]);
      while (next != ranks.end() && *next < after) ++next;
    }
    before = after;
  }
}

void RankSelector::keep(std::size_t bucket, std::int64_t value) {
  const auto group = std::ranges::find(groups_, bucket, &Group::bucket);
  if (group != groups_.end()) group->values.push_back(value);
}

std::int64_t RankSelector::value_of(std::size_t rank) {
  auto group = groups_.end();
  do --group;
  while (group->first_rank > rank);
  const auto at = group->values.begin() + static_cast<std::ptrdiff_t>(rank - group->first_rank);
  std::nth_element(group->values.begin(), at, group->values.end());
  return *at;
}

// The ranks next to percentiles `p` of `count` values, in order.
std::vector<std::size_t> ranks_of(std::span<const double> p, std::size_t count) {
  HEADROOM_CHECK(p.size() <= 100 && count <= UINT32_MAX, "too many values or percentiles");
  std::vector<std::size_t> ranks;
  for (std::size_t i = 0; i < p.size(); ++i) {
    HEADROOM_CHECK(p[i] >= 0 && p[i] <= 100 && (i == 0 || p[i] >= p[i - 1]),
                   "percentiles are to be in order");
    const auto below = static_cast<std::size_t>(rank_of(p[i], count));
    ranks.push_back(below);
    ranks.push_back(std::min(below + 1, count - 1));
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

double percentile_of(RankSelector& selector, double p, std::size_t count) {
  const double rank = rank_of(p, count);
  const auto below = static_cast<std::size_t>(rank);
  const auto low = static_cast<double>(selector.value_of(below));
  const std::size_t above = std::min(below + 1, count - 1);
  const auto high = static_cast<double>(selector.value_of(above));
  const double share = rank - static_cast<double>(below);
  // As numpy rounds it (numpy.lib.function_base._lerp).
  return share < 0.5 ? low + (high - low) * share : high - (high - low) * (1.0 - share);
}

}  // namespace

std::vector<double> percentiles(std::span<const std::int64_t> values, std::span<const double> p) {
  std::vector<double> results(p.size(), 0.0);
  if (values.empty()) return results;
  RankSelector selector;
  for (const std::int64_t value : values) selector.count(value);
  BucketSet wanted;
  selector.want(ranks_of(p, values.size()), wanted);
  for (const std::int64_t value : values) {
    const std::size_t bucket = LogHistogram::bucket_index(value);
    if (wanted.contains(bucket)) selector.keep(bucket, value);
  }
  for (std::size_t i = 0; i < p.size(); ++i) {
    results[i] = percentile_of(selector, p[i], values.size());
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

namespace {

constexpr std::array<double, 4> kLatencyPercentiles{50, 90, 95, 99};

struct LatencySums {
  std::size_t count = 0;
  Int128 sum = 0;
  WideSum squares;

  void add(const LatencySums& other) {
    count += other.count;
    sum += other.sum;
    squares.add(other.squares);
  }
};

// The first pass over some of the values.
LatencySums count_values(std::span<const std::int64_t> values, RankSelector& selector) {
  LatencySums sums;
  Uint128 small_squares = 0;
  for (const std::int64_t value : values) {
    HEADROOM_CHECK(value >= 0, "a latency below 0");
    selector.count(value);
    sums.sum += value;
    const auto magnitude = static_cast<std::uint64_t>(value);
    if (magnitude >> 48 == 0) {  // up to 2^32 such squares fit
      small_squares += Uint128{magnitude} * magnitude;
    } else {
      sums.squares.add(magnitude, magnitude);
    }
  }
  sums.count = values.size();
  sums.squares.add(small_squares, 1);
  return sums;
}

LatencyStats stats_from(const LatencySums& sums, RankSelector& selector, double scale) {
  LatencyStats stats;
  if (sums.count == 0) return stats;
  const auto count = static_cast<std::int64_t>(sums.count);
  stats.mean = static_cast<double>(sums.sum) / static_cast<double>(count) * scale;
  stats.std = population_std(count, sums.sum, sums.squares) * scale;
  const auto at = [&](std::size_t i) {
    return percentile_of(selector, kLatencyPercentiles[i], sums.count) * scale;
  };
  stats.median = at(0);
  stats.p90 = at(1);
  stats.p95 = at(2);
  stats.p99 = at(3);
  return stats;
}

}  // namespace

StatisticsByPart statistics_by_part(std::span<const std::int64_t> values,
                                    std::span<const std::size_t> ends, double scale) {
  HEADROOM_CHECK(!ends.empty() && ends.back() == values.size(),
                 "parts of another number of values");
  std::vector<RankSelector> selectors(ends.size());
  std::vector<LatencySums> sums(ends.size());
  const auto part = [&](std::size_t i) {
    const std::size_t begin = i == 0 ? 0 : ends[i - 1];
    return values.subspan(begin, ends[i] - begin);
  };
  RankSelector all;
  LatencySums all_sums;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    sums[i] = count_values(part(i), selectors[i]);
    all.count_all(selectors[i]);
    all_sums.add(sums[i]);
  }
  BucketSet wanted_of_all;
  if (all_sums.count > 0) all.want(ranks_of(kLatencyPercentiles, all_sums.count), wanted_of_all);
  StatisticsByPart statistics;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    BucketSet wanted = wanted_of_all;
    if (sums[i].count > 0) {
      selectors[i].want(ranks_of(kLatencyPercentiles, sums[i].count), wanted);
    }
    for (const std::int64_t value : part(i)) {
      const std::size_t bucket = LogHistogram::bucket_index(value);
      if (!wanted.contains(bucket)) continue;
      all.keep(bucket, value);
      selectors[i].keep(bucket, value);
    }
    statistics.parts.push_back(stats_from(sums[i], selectors[i], scale));
  }
  statistics.all = stats_from(all_sums, all, scale);
  return statistics;
}

LatencyStats statistics_of(std::span<const std::int64_t> values, double scale) {
  const std::array<std::size_t, 1> end{values.size()};
  return statistics_by_part(values, end, scale).all;
}

}  // namespace headroom
