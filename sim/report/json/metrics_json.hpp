#pragma once
// Serving metrics under the flat names of vLLM's serving benchmark (benchmarks/serve.py).

#include "sim/metrics/serving_metrics.hpp"
#include "sim/options/json.hpp"

namespace headroom {

[[nodiscard]] Json metrics_json(const ServingMetrics& metrics, bool with_itl);

}  // namespace headroom
