#include "sim/metrics/statistics.hpp"

#include <algorithm>
#include <array>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>

#include "sim/kernel/check.hpp"

namespace headroom {

namespace {

using Wide = boost::multiprecision::cpp_int;

Wide to_wide(Uint128 value) {
  return (Wide(static_cast<std::uint64_t>(value >> 64)) << 64) | static_cast<std::uint64_t>(value);
}

double rank_of(double p, std::size_t count) { return p / 100.0 * static_cast<double>(count - 1); }

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

LatencyStats LatencySums::statistics(double scale) const {
  LatencyStats stats;
  stats.mean = static_cast<double>(sum_) / static_cast<double>(count_) * scale;
  stats.std = population_std(count_, sum_, squares_) * scale;
  return stats;
}

namespace {

constexpr std::array<double, 4> kLatencyPercentiles{50, 90, 95, 99};

std::size_t count_of(const LatencySums& sums) { return static_cast<std::size_t>(sums.count()); }

}  // namespace

void LatencyByPart::end_first_pass() {
  for (const Tally& part : parts_) {
    all_.sums.merge(part.sums);
    all_.selector.count_all(part.selector);
  }
  if (all_.sums.count() == 0) return;
  all_.selector.want(ranks_of(kLatencyPercentiles, count_of(all_.sums)), all_.wanted);
  for (Tally& part : parts_) {
    part.wanted = all_.wanted;
    if (part.sums.count() == 0) continue;
    part.selector.want(ranks_of(kLatencyPercentiles, count_of(part.sums)), part.wanted);
  }
}

LatencyStats LatencyByPart::stats_of(Tally& tally, double scale) {
  if (tally.sums.count() == 0) return {};
  LatencyStats stats = tally.sums.statistics(scale);
  const auto at = [&](std::size_t i) {
    return percentile_of(tally.selector, kLatencyPercentiles[i], count_of(tally.sums)) * scale;
  };
  stats.median = at(0);
  stats.p90 = at(1);
  stats.p95 = at(2);
  stats.p99 = at(3);
  return stats;
}

}  // namespace headroom
