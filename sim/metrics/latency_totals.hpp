#pragma once
// One latency of many requests, added one by one: memory does not grow with their number. Mean and
// standard deviation are exact, percentiles come from a histogram (off by at most 0.05 %).

#include <cstdint>

#include "sim/kernel/log_histogram.hpp"
#include "sim/metrics/statistics.hpp"

namespace headroom {

class LatencyTotals {
 public:
  void add(std::int64_t value) {  // >= 0, in the caller's unit
    sums_.add(value);
    histogram_.add(value);
  }
  void merge(const LatencyTotals& other);

  // In the unit of the values times `scale`; all 0 for no values.
  [[nodiscard]] LatencyStats statistics(double scale) const;

 private:
  LatencySums sums_;
  LogHistogram histogram_;
};

}  // namespace headroom
