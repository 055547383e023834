#include "sim/report/json/metrics_json.hpp"

#include <string>

#include "sim/metrics/latency_metrics.hpp"

namespace headroom {

Json metrics_json(const ServingMetrics& m, bool with_itl) {
  Json json = {{"duration", m.duration},
               {"completed", m.completed},
               {"total_input_tokens", m.total_input_tokens},
               {"total_output_tokens", m.total_output_tokens},
               {"request_throughput", m.request_throughput},
               {"output_throughput", m.output_throughput},
               {"total_token_throughput", m.total_token_throughput},
               {"request_goodput", m.request_goodput ? Json(*m.request_goodput) : Json(nullptr)}};
  for (const LatencyMetric& metric : latency_metrics()) {
    if (metric.kind == LatencyKind::itl && !with_itl) continue;
    json[std::string(metric.name)] = m.*metric.value;
  }
  return json;
}

}  // namespace headroom
