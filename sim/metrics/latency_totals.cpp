#include "sim/metrics/latency_totals.hpp"

namespace headroom {

void LatencyTotals::merge(const LatencyTotals& other) {
  sum_ += other.sum_;
  squares_.add(other.squares_);
  histogram_.merge(other.histogram_);
}

LatencyStats LatencyTotals::statistics(double scale) const {
  LatencyStats stats;
  const std::int64_t count = histogram_.count();
  if (count == 0) return stats;
  stats.mean = static_cast<double>(sum_) / static_cast<double>(count) * scale;
  stats.std = population_std(count, sum_, squares_) * scale;
  stats.median = histogram_.percentile(50) * scale;
  stats.p90 = histogram_.percentile(90) * scale;
  stats.p95 = histogram_.percentile(95) * scale;
  stats.p99 = histogram_.percentile(99) * scale;
  return stats;
}

}  // namespace headroom
