#pragma once
// Simulations of one candidate: measures fleets, and finds the smallest one that is enough.

#include <atomic>
#include <cstdint>
#include <optional>

#include "sim/study/plan/fleet_planner.hpp"

namespace headroom {

// Thrown out of a simulation that a signal ended.
struct PlanInterrupted {};

class FleetSizer {
 public:
  // All of it must outlive the sizer.
  FleetSizer(const FleetPlanFile& plan, const PlanCandidate& candidate, const PlanTraffic& traffic,
             const Catalog& catalog, const std::atomic<bool>* interrupted)
      : plan_(plan),
        candidate_(candidate),
        traffic_(traffic),
        catalog_(catalog),
        interrupted_(interrupted) {}

  // Circumstances of what follows: factors of the plan's traffic and of a step's time.
  struct Load {
    double growth = 1;
    double slower = 0;
  };

  // Up to `replications` runs, ended at the first that breaks a target.
  [[nodiscard]] FleetMeasure measure(std::int64_t replicas, const Load& load,
                                     std::int64_t replications);

  // The smallest number of parts of the traffic of which one replica can serve one; each part is a
  // fixed choice of the requests. Nothing: not even 1/max_replicas; `last` says why.
  [[nodiscard]] std::optional<std::int64_t> split(std::int64_t guess, FleetMeasure& last);

  // The smallest fleet that keeps the targets under `load` with all replications. Found with the
  // first one; where the others disagree, the fleet grows by one at a time.
  [[nodiscard]] std::optional<FleetMeasure> smallest(std::int64_t guess, const Load& load,
                                                     FleetMeasure& last);

  [[nodiscard]] std::int64_t simulations() const { return simulations_; }
  // Of the last run that began.
  [[nodiscard]] const ExpectedError& expected_error() const { return expected_error_; }

 private:
  struct Sums;

  // Adds one run; false: it breaks a target, and `measure` says how.
  [[nodiscard]] bool add_run(const PlanCase& one, Sums& sums, FleetMeasure& measure);
  [[nodiscard]] FleetMeasure measure_share(std::int64_t replicas, double scale, double slower,
                                           std::int64_t replications);

  const FleetPlanFile& plan_;
  const PlanCandidate& candidate_;
  const PlanTraffic& traffic_;
  const Catalog& catalog_;
  const std::atomic<bool>* interrupted_;
  std::int64_t simulations_ = 0;
  ExpectedError expected_error_;
};

}  // namespace headroom
