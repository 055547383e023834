#pragma once
// Statistics of integers as numpy defines them, exact up to the last rounding to double.

#include <cstdint>
#include <span>
#include <vector>

#include "sim/kernel/check.hpp"
#include "sim/kernel/log_histogram.hpp"
#include "sim/kernel/time.hpp"
#include "sim/kernel/wide_sum.hpp"
#include "sim/metrics/rank_selector.hpp"

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

// The sums behind mean and standard deviation.
class LatencySums {
 public:
  void add(std::int64_t value) {  // >= 0
    HEADROOM_CHECK(value >= 0, "a latency below 0");
    const auto magnitude = static_cast<std::uint64_t>(value);
    ++count_;
    sum_ += value;
    squares_.add(Uint128{magnitude} * magnitude);
  }
  void merge(const LatencySums& other) {
    count_ += other.count_;
    sum_ += other.sum_;
    squares_.add(other.squares_);
  }
  [[nodiscard]] std::int64_t count() const { return count_; }
  // Those two, in the unit of the values times `scale`; count() > 0.
  [[nodiscard]] LatencyStats statistics(double scale) const;

 private:
  std::int64_t count_ = 0;
  Int128 sum_ = 0;
  WideSum squares_;
};

// One latency of many requests, in parts and of all: exact without keeping its values, by two
// passes over them, each in any order.
class LatencyByPart {
 public:
  explicit LatencyByPart(std::size_t parts) : parts_(parts) {}

  // First pass. value >= 0; fewer than 2^32 of them.
  void count(std::size_t part, std::int64_t value) {
    parts_[part].sums.add(value);
    parts_[part].selector.count(value);
  }
  void end_first_pass();
  // Second pass, of the same values.
  void keep(std::size_t part, std::int64_t value) {
    const std::size_t bucket = LogHistogram::bucket_index(value);
    if (!parts_[part].wanted.contains(bucket)) return;
    all_.selector.keep(bucket, value);
    parts_[part].selector.keep(bucket, value);
  }

  // Behind it, in the unit of the values times `scale`.
  [[nodiscard]] LatencyStats of_all(double scale) { return stats_of(all_, scale); }
  [[nodiscard]] LatencyStats of_part(std::size_t part, double scale) {
    return stats_of(parts_[part], scale);
  }

 private:
  struct Tally {
    LatencySums sums;
    RankSelector selector;
    BucketSet wanted;  // of a part: by all as well
  };
  [[nodiscard]] static LatencyStats stats_of(Tally& tally, double scale);

  std::vector<Tally> parts_;
  Tally all_;
};

}  // namespace headroom
