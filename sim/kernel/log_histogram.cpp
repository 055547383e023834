#include "sim/kernel/log_histogram.hpp"

#include <algorithm>

namespace headroom {

void LogHistogram::merge(const LogHistogram& other) {
  if (other.counts_.size() > counts_.size()) counts_.resize(other.counts_.size());
  for (std::size_t i = 0; i < other.counts_.size(); ++i) counts_[i] += other.counts_[i];
  total_ += other.total_;
}

void LogHistogram::grow_to(std::size_t index) {
  counts_.resize(((index >> kSubBucketBits) + 1) << kSubBucketBits);  // whole octaves
}

double LogHistogram::value_of_rank(std::int64_t rank) const {
  std::int64_t below = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    below += counts_[i];
    if (below > rank) {
      const auto low = static_cast<double>(bucket_low(i));
      return low + 0.5 * static_cast<double>(bucket_high(i) - bucket_low(i));
    }
  }
  HEADROOM_CHECK(false, "rank beyond the count of a histogram");
  return 0.0;
}

double LogHistogram::percentile(double p) const {
  HEADROOM_CHECK(total_ > 0, "percentile of an empty histogram");
  HEADROOM_CHECK(p >= 0.0 && p <= 100.0, "percentile outside 0 .. 100");
  // numpy: position (n - 1) * q between order statistics, interpolated from the nearer end.
  const double position = static_cast<double>(total_ - 1) * (p / 100.0);
  const std::int64_t rank = std::min(static_cast<std::int64_t>(position), total_ - 1);
  const double fraction = position - static_cast<double>(rank);
  const double low = value_of_rank(rank);
  const double high = value_of_rank(std::min(rank + 1, total_ - 1));
  const double step = high - low;
  return fraction < 0.5 ? low + step * fraction : high - step * (1.0 - fraction);
}

bool operator==(const LogHistogram& a, const LogHistogram& b) {
  const std::size_t end = std::max(a.counts_.size(), b.counts_.size());
  for (std::size_t i = 0; i < end; ++i) {
    if (a.count_in(i) != b.count_in(i)) return false;
  }
  return true;
}

}  // namespace headroom
