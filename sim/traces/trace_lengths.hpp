#pragma once
// How many tokens the prompts or the answers of a trace have: counts, in memory that does not grow
// with the number of rows.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/kernel/log_histogram.hpp"
#include "sim/kernel/time.hpp"

namespace headroom {

class TokenCounts {
 public:
  // Below, every number of tokens has a count of its own; from here on, buckets of LogHistogram
  // represent their middle, off by at most 0.05 %. Count, sum and maximum are exact everywhere.
  static constexpr std::int32_t kExactEnd = 1 << 20;
  // Powers of two: 0 holds 0, k holds 2^(k-1) .. 2^k - 1.
  static constexpr std::size_t kPowers = 32;

  // tokens >= 0
  void add(std::int32_t tokens) {
    const auto place = static_cast<std::size_t>(tokens);
    if (place < counts_.size()) {
      ++counts_[place];
    } else {
      add_beyond(tokens);
    }
  }
  void merge(const TokenCounts& other);

  [[nodiscard]] std::int64_t count() const;
  [[nodiscard]] Int128 sum() const;
  [[nodiscard]] std::int32_t max() const;  // 0 when there is none
  // By linear interpolation between closest ranks (numpy's default), rounded down to whole tokens;
  // 0 when there is none. `percent` in 0 .. 100.
  [[nodiscard]] std::int64_t percentile(std::int64_t percent) const;
  [[nodiscard]] std::int64_t count_above(std::int64_t tokens) const;
  [[nodiscard]] std::array<std::int64_t, kPowers> count_by_power() const;

  // visit(tokens, count) for all counts > 0, in order of tokens.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      if (counts_[i] != 0) visit(static_cast<std::int64_t>(i), counts_[i]);
    }
    if (large_.count() == 0) return;
    for (std::size_t b = LogHistogram::bucket_index(kExactEnd); b < large_.bucket_end(); ++b) {
      if (large_.count_in(b) != 0) visit(middle(b), large_.count_in(b));
    }
  }

 private:
  void add_beyond(std::int32_t tokens);
  void grow_to(std::size_t place);
  [[nodiscard]] std::int64_t middle(std::size_t bucket) const;

  std::vector<std::int64_t> counts_;  // a power of two of them, as many as the values need
  LogHistogram large_;
  Int128 large_sum_ = 0;
  std::int32_t large_max_ = 0;
};

// The lowest number of tokens that TokenCounts counts under a power: 0, 1, 2, 4, 8, ...
[[nodiscard]] constexpr std::int64_t first_of_power(std::size_t power) {
  return power == 0 ? 0 : std::int64_t{1} << (power - 1);
}

struct LengthStats {
  std::int64_t sum_tokens = 0;
  double mean_tokens = 0;
  std::int64_t p50_tokens = 0;
  std::int64_t p90_tokens = 0;
  std::int64_t p99_tokens = 0;
  std::int64_t max_tokens = 0;
  std::array<std::int64_t, TokenCounts::kPowers> rows_by_power{};
};
[[nodiscard]] LengthStats length_stats(const TokenCounts& counts);

}  // namespace headroom
