#pragma once
// Integer counts in log-linear buckets over non-negative integers (the unit is the user's, e.g.
// ns). Values below 2048 have a bucket each; above, every power of two is split into 1024 equal
// buckets, so a bucket is never wider than 1/1024 of its lowest value and its midpoint is off by
// at most 0.05 %. Counts are integers: the result depends neither on the order of additions nor on
// how the values were distributed over histograms that are merged.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/kernel/check.hpp"
#include "sim/kernel/likely.hpp"

namespace headroom {

class LogHistogram {
 public:
  // value >= 0, count >= 0. Inlined: every run of steps adds its duration.
  [[gnu::always_inline]] void add(std::int64_t value, std::int64_t count = 1) {
    HEADROOM_CHECK(value >= 0 && count >= 0, "a histogram takes no negative value or count");
    add_to_bucket(bucket_index(value), count);
  }
  // As many values that fall into bucket `index`. count >= 0.
  void add_to_bucket(std::size_t index, std::int64_t count) {
    if (rarely(index >= counts_.size())) grow_to(index);
    counts_[index] += count;
    total_ += count;
  }
  void merge(const LogHistogram& other);

  [[nodiscard]] std::int64_t count() const { return total_; }
  [[nodiscard]] std::int64_t count_in(std::size_t index) const {
    return index < counts_.size() ? counts_[index] : 0;
  }
  // One past the highest bucket that can have a count; buckets are 0 .. bucket_end() - 1.
  [[nodiscard]] std::size_t bucket_end() const { return counts_.size(); }

  // Percentile p in [0, 100] as numpy's default ("linear") defines it, with every value taken as
  // the midpoint of its bucket: off by at most 0.05 % of the true value. Needs count() > 0.
  [[nodiscard]] double percentile(double p) const;

  [[nodiscard]] static std::size_t bucket_index(std::int64_t value) {
    const auto v = static_cast<std::uint64_t>(value);
    if (v < kSubBuckets) return static_cast<std::size_t>(v);
    const int octave = static_cast<int>(std::bit_width(v)) - 1 - kSubBucketBits;  // 1024: 0
    // v >> octave is in [1024, 2048).
    return static_cast<std::size_t>((static_cast<std::uint64_t>(octave) << kSubBucketBits) +
                                    (v >> octave));
  }
  // The lowest and the highest value that fall into bucket `index`.
  [[nodiscard]] static std::int64_t bucket_low(std::size_t index) {
    if (index < kSubBuckets) return static_cast<std::int64_t>(index);
    const std::uint64_t leading = (index & (kSubBuckets - 1)) + kSubBuckets;
    return static_cast<std::int64_t>(leading << octave_of(index));
  }
  [[nodiscard]] static std::int64_t bucket_high(std::size_t index) {
    return bucket_low(index) + (bucket_width(index) - 1);  // the highest one is INT64_MAX
  }
  [[nodiscard]] static std::int64_t bucket_width(std::size_t index) {
    return index < kSubBuckets ? 1 : std::int64_t{1} << octave_of(index);
  }

  friend bool operator==(const LogHistogram& a, const LogHistogram& b);

 private:
  static constexpr int kSubBucketBits = 10;
  static constexpr std::uint64_t kSubBuckets = std::uint64_t{1} << kSubBucketBits;

  // Of a bucket that is one of 1024.
  [[nodiscard]] static std::size_t octave_of(std::size_t index) {
    return (index >> kSubBucketBits) - 1;
  }
  void grow_to(std::size_t index);
  [[nodiscard]] double value_of_rank(std::int64_t rank) const;  // rank from 0, < total_

  std::vector<std::int64_t> counts_;  // up to the highest octave seen
  std::int64_t total_ = 0;
};

}  // namespace headroom
