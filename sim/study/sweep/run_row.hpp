#pragma once
// What a study keeps of a run: flat numbers with their units in their names.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/metrics/backlog_slope.hpp"
#include "sim/resolve/run.hpp"
#include "sim/study/store/results_store.hpp"

namespace headroom {

// Names of `vllm bench serve` and of summary.json. Latencies (all that end in _ms) are left out of
// a run that is not stationary or finished nothing: they would say how long the run was. A run that
// did not start has throughput 0 and its out-of-memory. `summary` is the run's summary.json.
[[nodiscard]] StoredRun row_of(const RunResult& result, std::string summary);

// A run, and what several of its figures are computed from.
struct RunFigures {
  const RunResult& run;
  std::optional<BacklogSlope> slope;
};

// A figure of a run that is no latency (sim/metrics/latency_metrics.hpp); nothing where it has
// none.
struct RunMetric {
  std::string_view name;
  std::string_view unit;
  std::optional<double> (*value)(const RunFigures& figures);
};
// In the order in which a row has them.
[[nodiscard]] std::span<const RunMetric> run_metrics();

// Every metric that a run may have, latencies last.
[[nodiscard]] std::vector<std::string> metric_names();

}  // namespace headroom
