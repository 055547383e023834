#pragma once
// One simulation: scenario in, plain results out. Running out of memory is a result, not an error.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hardware/budget/budget.hpp"
#include "hardware/catalog.hpp"
#include "sim/metrics/recorder.hpp"
#include "sim/metrics/serving_metrics.hpp"
#include "sim/metrics/summary.hpp"
#include "sim/resolve/expected_error.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/resolve/workload_factory.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/serving/fleet.hpp"
#include "sim/serving/metrics_sink.hpp"

namespace headroom {

struct CostFacts {
  std::string level;
  std::string calibration;  // id; "spec" and "affine" without one
  std::string source;
  std::string engine_versions;  // it was fitted on
  bool uncalibrated = false;
  ClientLatency client_latency;
  EntryWork entry;  // of it, what requests that come together wait for one another
};

// Replicas of one kind.
struct FleetGroup {
  std::string name;
  std::int64_t count = 1;   // at the beginning
  std::int64_t places = 1;  // numbers of replicas: the most that it may have at once
  double weight = 1;
  ReplicaRole role = ReplicaRole::both;
  std::optional<double> cost_per_hour;  // of one replica
  Resolved resolved;
  std::vector<ResolvedValue> values;
  MemoryBudget budget;
  TokenCount pool_tokens = 0;
  CostFacts cost;
};

struct RunResult {
  // At least one. What stands here besides is of the first one, or of the one that does not start.
  std::vector<FleetGroup> groups;
  bool is_fleet = false;  // the scenario has a section `fleet`
  Resolved resolved;
  std::vector<ResolvedValue> values;
  MemoryBudget budget;
  TokenCount pool_tokens = 0;
  bool started = false;  // false: budget.failure says why nothing ran
  CostFacts cost;
  WorkloadFacts workload;
  StopReason stop = StopReason::drained;
  FleetTotals totals;
  RunSummary summary;
  std::string digest;  // of all records and meters; equal digests, equal results
  ExpectedError expected_error;
  std::vector<std::string> warnings;
  std::unique_ptr<Recorder> recorder;  // records, timeline and events; empty when nothing ran
};
[[nodiscard]] std::string_view name_of(StopReason reason);

// How long there was replica `number` of a run that started: from the order of its node to its end.
[[nodiscard]] TimeNs exists_ns(const RunResult& result, std::size_t number);

// Whether the engine keeps room for answers of any length, and therefore would run fewer requests
// at once if clients declared no max_tokens. Of a run that started.
[[nodiscard]] bool open_lengths_bind(const RunResult& result);

struct RunControl {
  const std::atomic<bool>* interrupted = nullptr;  // ends the run, with complete results
  std::atomic<std::uint64_t>* done = nullptr;      // requests that left so far, for a progress line
  MetricsSink* sink = nullptr;                     // also receives everything
};

// ConfigError, DataError: the scenario or its files are wrong.
[[nodiscard]] RunResult run(const Scenario& scenario, const Catalog& catalog,
                            const RunControl& control = {});

// The same with requests from elsewhere, in place of those that the scenario describes.
[[nodiscard]] RunResult run(const Scenario& scenario, const Catalog& catalog, Workload workload,
                            const RunControl& control = {});

// Everything `run` does before the first event: reads all files, resolves, budgets, builds the
// parts.
[[nodiscard]] RunResult check(const Scenario& scenario, const Catalog& catalog);

}  // namespace headroom
