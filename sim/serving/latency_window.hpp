#pragma once
// Latencies since the last reading, and a percentile of them.

#include <cstddef>
#include <optional>
#include <vector>

#include "sim/kernel/log_histogram.hpp"
#include "sim/kernel/time.hpp"

namespace headroom {

// Exact up to kMostExact latencies; those of a longer window go into buckets, so that memory stays
// bounded (off by at most 0.05 %). The result does not depend on the order of the latencies.
class LatencyWindow {
 public:
  static constexpr std::size_t kMostExact = 1 << 18;  // 2 MiB

  void add(TimeNs latency_ns);  // >= 0
  void clear();
  // Of all since `clear`, in ns, as numpy's default ("linear") defines it; p in [0, 100]. Empty:
  // there were none.
  [[nodiscard]] std::optional<double> percentile(double p);

 private:
  std::vector<TimeNs> exact_;
  LogHistogram buckets_;  // in use once it has any
};

}  // namespace headroom
