#pragma once
// The latencies of a run by the names of `vllm bench serve`, in the order in which results list
// them.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "sim/metrics/serving_metrics.hpp"

namespace headroom {

enum class LatencyKind : std::uint8_t { ttft, tpot, itl, e2el };

struct LatencyMetric {
  std::string_view name;  // "p99_ttft_ms"
  LatencyKind kind;
  double ServingMetrics::*value;
  bool is_spread = false;               // a standard deviation: no level that a target could bound
  std::optional<double> quantile = {};  // 0.99; of a mean nothing
};

[[nodiscard]] std::span<const LatencyMetric> latency_metrics();
// nullptr where none has that name.
[[nodiscard]] const LatencyMetric* find_latency(std::string_view name);

}  // namespace headroom
