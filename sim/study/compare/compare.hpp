#pragma once
// Two scenarios under the same random numbers: each replication runs both with one seed, so that
// they see the same traffic and their difference is not that of two draws.

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hardware/catalog.hpp"
#include "sim/resolve/run.hpp"
#include "sim/resolve/run_verdict.hpp"
#include "sim/scenario/scenario_file.hpp"
#include "sim/study/compare/request_pairs.hpp"
#include "sim/study/store/results_store.hpp"

namespace headroom {

struct ComparedScenario {
  std::string label;
  Scenario scenario;
};

struct Comparison {
  std::string name;
  ComparedScenario a;
  ComparedScenario b;
  std::int64_t replications = 5;  // with the scenario's seed, + 1, ...
};

// One metric over the replications in which both runs have it.
struct MetricPair {
  std::string name;
  std::int64_t pairs = 0;
  double mean_a = 0;
  double mean_b = 0;
  double difference = 0;  // mean of B less A
  double half_width = 0;  // of its interval of 95 %; 0 with fewer than two pairs
  // The interval leaves out 0.
  [[nodiscard]] bool is_certain() const {
    return pairs > 1 && (difference < -half_width || difference > half_width);
  }
};

struct ComparedRuns {
  std::vector<StoredRun> rows;  // by replication
  RunResult first;              // of the first replication
  RunVerdict verdict;           // on that
};

struct ComparisonResult {
  ComparedRuns a;
  ComparedRuns b;
  std::vector<MetricPair> metrics;
  RequestPairs requests;  // of the first replication
  // Both sides replay recorded requests, and another seed changes nothing: one pair is all.
  bool has_no_draws = false;
};

// A file of a study with two points, or the name of a built-in one. ConfigError otherwise.
[[nodiscard]] Comparison load_pair(const std::string& name, const std::vector<std::string>& set);
// Two scenarios by file or name; `trace` replaces the workload of both, `set` overrides both, then
// `set_a` and `set_b` one each.
[[nodiscard]] Comparison load_pair(const std::string& a, const std::string& b,
                                   const std::vector<std::string>& set,
                                   const std::vector<std::string>& set_a,
                                   const std::vector<std::string>& set_b,
                                   const std::optional<std::string>& trace = {});

inline constexpr std::int64_t kMostReplications = 10'000;

struct CompareOptions {
  std::size_t threads = 1;
  const std::atomic<bool>* interrupted = nullptr;
  std::atomic<std::uint64_t>* done = nullptr;  // runs that have ended
};

// Runs all replications, or one where they do not differ. The result depends on nothing but the
// comparison. A run that fails makes the whole fail, with its error.
[[nodiscard]] ComparisonResult compare(const Comparison& comparison, const Catalog& catalog,
                                       const CompareOptions& options);

// Of rows by replication.
[[nodiscard]] std::vector<MetricPair> pair_metrics(const std::vector<StoredRun>& a,
                                                   const std::vector<StoredRun>& b);

}  // namespace headroom
