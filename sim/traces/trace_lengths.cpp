#include "sim/traces/trace_lengths.hpp"

#include <algorithm>
#include <bit>

#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

constexpr std::size_t kFirstCounts = 4096;

}  // namespace

void TokenCounts::add_beyond(std::int32_t tokens) {
  HEADROOM_CHECK(tokens >= 0, "a negative number of tokens");
  if (tokens < kExactEnd) {
    grow_to(static_cast<std::size_t>(tokens));
    ++counts_[static_cast<std::size_t>(tokens)];
    return;
  }
  large_.add(tokens);
  large_sum_ += tokens;
  large_max_ = std::max(large_max_, tokens);
}

void TokenCounts::grow_to(std::size_t place) {
  counts_.resize(std::max(kFirstCounts, std::bit_ceil(place + 1)));
}

void TokenCounts::merge(const TokenCounts& other) {
  if (other.counts_.size() > counts_.size()) counts_.resize(other.counts_.size());
  for (std::size_t i = 0; i < other.counts_.size(); ++i) counts_[i] += other.counts_[i];
  large_.merge(other.large_);
  large_sum_ += other.large_sum_;
  large_max_ = std::max(large_max_, other.large_max_);
}

std::int64_t TokenCounts::count() const {
  std::int64_t count = large_.count();
  for (const std::int64_t of_one : counts_) count += of_one;
  return count;
}

Int128 TokenCounts::sum() const {
  Int128 sum = large_sum_;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    sum += static_cast<Int128>(counts_[i]) * static_cast<std::int64_t>(i);
  }
  return sum;
}

std::int32_t TokenCounts::max() const {
  if (large_.count() != 0) return large_max_;
  std::size_t end = counts_.size();
  while (end > 0 && counts_[end - 1] == 0) --end;
  return end == 0 ? 0 : static_cast<std::int32_t>(end - 1);
}

std::int64_t TokenCounts::middle(std::size_t bucket) const {
  const std::int64_t low = LogHistogram::bucket_low(bucket);
  const std::int64_t half = (LogHistogram::bucket_high(bucket) - low) / 2;
  return std::min<std::int64_t>(low + half, large_max_);
}

// Position (n - 1) p / 100 between the ordered values, in integers.
std::int64_t TokenCounts::percentile(std::int64_t percent) const {
  HEADROOM_CHECK(percent >= 0 && percent <= 100, "percentile outside 0 .. 100");
  const std::int64_t rows = count();
  if (rows == 0) return 0;
  const Int128 position = static_cast<Int128>(rows - 1) * percent;
  const auto rank = static_cast<std::int64_t>(position / 100);
  const auto hundredths = static_cast<std::int64_t>(position % 100);
  std::int64_t below = 0;  // values before those the visit has come to
  std::int64_t low = -1;
  std::int64_t high = -1;
  for_each([&](std::int64_t tokens, std::int64_t same) {
    below += same;
    if (low < 0 && below > rank) low = tokens;
    if (high < 0 && below > std::min(rank + 1, rows - 1)) high = tokens;
  });
  return low + (high - low) * hundredths / 100;
}

std::int64_t TokenCounts::count_above(std::int64_t tokens) const {
  std::int64_t above = 0;
  for_each([&](std::int64_t value, std::int64_t same) { above += value > tokens ? same : 0; });
  return above;
}

// A bucket of LogHistogram never crosses a power of two.
std::array<std::int64_t, TokenCounts::kPowers> TokenCounts::count_by_power() const {
  std::array<std::int64_t, kPowers> counts{};
  for_each([&](std::int64_t tokens, std::int64_t same) {
    counts[static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(tokens)))] += same;
  });
  return counts;
}

LengthStats length_stats(const TokenCounts& counts) {
  LengthStats stats;
  const std::int64_t rows = counts.count();
  if (rows == 0) return stats;
  const Int128 sum = counts.sum();
  HEADROOM_CHECK(sum <= INT64_MAX, "a trace of more than 2^63 tokens");
  stats.sum_tokens = static_cast<std::int64_t>(sum);
  stats.mean_tokens = static_cast<double>(sum) / static_cast<double>(rows);
  stats.p50_tokens = counts.percentile(50);
  stats.p90_tokens = counts.percentile(90);
  stats.p99_tokens = counts.percentile(99);
  stats.max_tokens = counts.max();
  stats.rows_by_power = counts.count_by_power();
  return stats;
}

}  // namespace headroom
