#pragma once
// Which value has rank k, without sorting and without keeping the values: two passes over them.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/kernel/log_histogram.hpp"

namespace headroom {

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

// The first pass counts values >= 0 by the buckets of a LogHistogram, the second one keeps the few
// that share a bucket with a wanted rank.
class RankSelector {
 public:
  // Fewer than 2^32 values.
  void count(std::int64_t value) {
    const std::size_t bucket = LogHistogram::bucket_index(value);
    if (bucket >= counts_.size()) [[unlikely]] {
      counts_.resize(bucket + 1024, 0);
    }
    ++counts_[bucket];
  }
  // All that `other` has counted.
  void count_all(const RankSelector& other);
  // Between the passes: `ranks` in order, each below the number of values. Buckets whose values are
  // to be kept are added to `wanted`.
  void want(std::span<const std::size_t> ranks, BucketSet& wanted);
  // Those of other buckets are not kept.
  void keep(std::size_t bucket, std::int64_t value);
  // Behind the second pass, of a wanted rank.
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

}  // namespace headroom
