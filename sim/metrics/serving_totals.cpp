#include "sim/metrics/serving_totals.hpp"

namespace headroom {

void ServingTotals::add(const RequestRecord& record, const ServingOptions& options) {
  counts_.add(record.outcome);
  sums_.note_arrival(record);
  if (record.outcome != Outcome::finished) return;
  const RequestLatencies latencies = latencies_of(record, options);
  sums_.add(record, latencies.good);
  ttft_ns_.add(latencies.ttft_ns);
  e2el_ns_.add(latencies.e2el_ns);
  if (latencies.tpot) tpot_.add(*latencies.tpot);
}

void ServingTotals::merge(const ServingTotals& other) {
  counts_.merge(other.counts_);
  sums_.merge(other.sums_);
  ttft_ns_.merge(other.ttft_ns_);
  e2el_ns_.merge(other.e2el_ns_);
  tpot_.merge(other.tpot_);
}

ServingMetrics ServingTotals::metrics(const ItlMeter* itl, bool with_goodput) const {
  ServingMetrics metrics = metrics_of(sums_, itl, with_goodput);
  if (metrics.completed == 0) return metrics;
  set_latencies(metrics, {.ttft = ttft_ns_.statistics(kMsPerNs),
                          .tpot = tpot_.statistics(kMsPerTpotUnit),
                          .e2el = e2el_ns_.statistics(kMsPerNs)});
  return metrics;
}

}  // namespace headroom
