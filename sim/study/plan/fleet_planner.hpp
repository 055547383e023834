#pragma once
// The cheapest fleets that keep a plan's targets: candidates are pruned by bounds, and the size of
// each that is left is found by simulation.

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/resolve/energy.hpp"
#include "sim/resolve/run.hpp"
#include "sim/study/plan/plan_bounds.hpp"
#include "sim/study/plan/plan_targets.hpp"

namespace headroom {

// A fleet of one size under the traffic, over its replications.
struct FleetMeasure {
  std::int64_t replicas = 0;
  std::int64_t runs = 0;
  Verdict verdict = Verdict::open;  // on all targets; open: not certain, which is not kept
  PlanFate fate = PlanFate::met;    // of a fleet that does not keep the targets: why not
  std::string reason;
  std::vector<PlanVerdict> targets;  // in the plan's order
  double p99_ttft_ms = 0;            // means over replications from here on
  double p99_tpot_ms = 0;
  double requests_per_s = 0;
  double output_tokens_per_s = 0;
  double input_tokens_per_s = 0;
  double busy_share = 0;
  std::optional<double> mean_w;  // of all devices; nothing where no power is known
  bool power_assumed = false;

  [[nodiscard]] bool kept() const { return verdict == Verdict::passes; }
};

// The same fleet under other circumstances.
struct FleetResize {
  double factor = 1;                     // of the traffic, or of the time of a step
  std::optional<std::int64_t> replicas;  // nothing: more than max_replicas
  double dollars_per_hour = 0;
};

struct PlannedFleet {
  PlanCandidate candidate;
  PlanBounds bounds;
  PlanFate fate = PlanFate::met;
  std::string reason;
  std::int64_t needed = 0;    // replicas that keep the targets
  std::int64_t replicas = 0;  // with those that may be gone
  std::int64_t instances = 0;
  double dollars_per_hour = 0;
  FleetMeasure without_spares;            // of `needed`
  FleetMeasure whole;                     // of `replicas`
  double dollars_per_million_tokens = 0;  // of output, at the traffic's rate
  double dollars_per_thousand_requests = 0;
  std::optional<double> joules_per_token;  // of output
  double rolling_restart_s = 0;            // one replica after the other
  ExpectedError expected_error;            // of one replica
  bool on_front = false;
  std::vector<FleetResize> growth;    // of finalists: by factor of the traffic
  std::optional<FleetResize> slower;  // of finalists: with the slow end of the expected error
  std::int64_t simulations = 0;
};

struct FleetPlanResult {
  std::vector<PlanTraffic> traffic;    // by model
  std::vector<PlannedFleet> fleets;    // by candidate
  std::optional<std::size_t> chosen;   // the cheapest that keeps everything
  std::vector<std::size_t> finalists;  // the cheapest of each model, by cost
  std::int64_t simulations = 0;
  bool interrupted = false;  // nothing else is set then
};

struct PlannerOptions {
  std::size_t threads = 1;
  const std::atomic<bool>* interrupted = nullptr;
  // How many of how many candidates are done; from any thread, one at a time.
  std::function<void(std::size_t done, std::size_t all)> progress = {};
};

// Equal results for any number of threads. ConfigError, DataError: the plan, or a file it names.
// Of the chosen fleet, files named as the plan names them; null where none keeps the targets.
[[nodiscard]] Json chosen_scenario(const FleetPlanFile& plan, const FleetPlanResult& result);

[[nodiscard]] FleetPlanResult plan_fleets(const FleetPlanFile& plan, const Catalog& catalog,
                                          const PlannerOptions& options);

// Replicas beyond those that are needed: N + failures, or the one that restarts.
[[nodiscard]] std::int64_t spare_replicas(const FleetPlanFile& plan);

}  // namespace headroom
