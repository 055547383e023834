#pragma once
// The metrics of `vllm bench serve` from requests added one by one, in memory that does not grow
// with their number: what `serving_metrics` makes of a table of records, but for percentiles, which
// are those of a histogram here.

#include "sim/metrics/latency_totals.hpp"
#include "sim/metrics/request_counts.hpp"
#include "sim/metrics/serving_metrics.hpp"

namespace headroom {

class ServingTotals {
 public:
  void add(const RequestRecord& record, const ServingOptions& options);
  void merge(const ServingTotals& other);

  [[nodiscard]] const RequestCounts& counts() const { return counts_; }
  // `itl` may be null; `with_goodput`: there are limits to keep.
  [[nodiscard]] ServingMetrics metrics(const ItlMeter* itl, bool with_goodput) const;

 private:
  RequestCounts counts_;
  ServingSums sums_;
  LatencyTotals ttft_ns_;
  LatencyTotals e2el_ns_;
  LatencyTotals tpot_;  // as in RequestLatencies
};

}  // namespace headroom
