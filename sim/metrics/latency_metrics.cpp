#include "sim/metrics/latency_metrics.hpp"

#include <algorithm>
#include <array>

namespace headroom {
namespace {

using K = LatencyKind;
using M = ServingMetrics;

// clang-format off
constexpr std::array kLatencyMetrics{
    LatencyMetric{"mean_ttft_ms", K::ttft, &M::mean_ttft_ms},
    LatencyMetric{"median_ttft_ms", K::ttft, &M::median_ttft_ms, false, 0.5},
    LatencyMetric{"std_ttft_ms", K::ttft, &M::std_ttft_ms, true},
    LatencyMetric{"p90_ttft_ms", K::ttft, &M::p90_ttft_ms, false, 0.9},
    LatencyMetric{"p95_ttft_ms", K::ttft, &M::p95_ttft_ms, false, 0.95},
    LatencyMetric{"p99_ttft_ms", K::ttft, &M::p99_ttft_ms, false, 0.99},
    LatencyMetric{"mean_tpot_ms", K::tpot, &M::mean_tpot_ms},
    LatencyMetric{"median_tpot_ms", K::tpot, &M::median_tpot_ms, false, 0.5},
    LatencyMetric{"std_tpot_ms", K::tpot, &M::std_tpot_ms, true},
    LatencyMetric{"p90_tpot_ms", K::tpot, &M::p90_tpot_ms, false, 0.9},
    LatencyMetric{"p95_tpot_ms", K::tpot, &M::p95_tpot_ms, false, 0.95},
    LatencyMetric{"p99_tpot_ms", K::tpot, &M::p99_tpot_ms, false, 0.99},
    LatencyMetric{"mean_itl_ms", K::itl, &M::mean_itl_ms},
    LatencyMetric{"median_itl_ms", K::itl, &M::median_itl_ms, false, 0.5},
    LatencyMetric{"std_itl_ms", K::itl, &M::std_itl_ms, true},
    LatencyMetric{"p90_itl_ms", K::itl, &M::p90_itl_ms, false, 0.9},
    LatencyMetric{"p95_itl_ms", K::itl, &M::p95_itl_ms, false, 0.95},
    LatencyMetric{"p99_itl_ms", K::itl, &M::p99_itl_ms, false, 0.99},
    LatencyMetric{"mean_e2el_ms", K::e2el, &M::mean_e2el_ms},
    LatencyMetric{"median_e2el_ms", K::e2el, &M::median_e2el_ms, false, 0.5},
    LatencyMetric{"std_e2el_ms", K::e2el, &M::std_e2el_ms, true},
    LatencyMetric{"p90_e2el_ms", K::e2el, &M::p90_e2el_ms, false, 0.9},
    LatencyMetric{"p95_e2el_ms", K::e2el, &M::p95_e2el_ms, false, 0.95},
    LatencyMetric{"p99_e2el_ms", K::e2el, &M::p99_e2el_ms, false, 0.99},
};
// clang-format on

}  // namespace

std::span<const LatencyMetric> latency_metrics() { return kLatencyMetrics; }

const LatencyMetric* find_latency(std::string_view name) {
  const auto found = std::ranges::find(kLatencyMetrics, name, &LatencyMetric::name);
  return found == kLatencyMetrics.end() ? nullptr : &*found;
}

}  // namespace headroom
