#include "sim/metrics/latency_totals.hpp"

namespace headroom {

void LatencyTotals::merge(const LatencyTotals& other) {
  sums_.merge(other.sums_);
  histogram_.merge(other.histogram_);
}

LatencyStats LatencyTotals::statistics(double scale) const {
  if (sums_.count() == 0) return {};
  LatencyStats stats = sums_.statistics(scale);
  stats.median = histogram_.percentile(50) * scale;
  stats.p90 = histogram_.percentile(90) * scale;
  stats.p95 = histogram_.percentile(95) * scale;
  stats.p99 = histogram_.percentile(99) * scale;
  return stats;
}

}  // namespace headroom
