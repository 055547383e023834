#pragma once
// Simulations of one candidate: measures fleets, and finds the smallest one that is enough.

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

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

  // Runs the whole traffic until the intervals of all targets tell whether they are kept: the
  // plan's `replications`, then twice as many each time, up to kMostPlanRounds times as many. What
  // is not certain then is not kept. A run that loses a request ends it.
  [[nodiscard]] FleetMeasure judge(std::int64_t replicas, const Load& load);
  // `replications` runs, for their figures.
  [[nodiscard]] FleetMeasure measure(std::int64_t replicas, const Load& load);

  // The smallest fleet of at most `most` replicas that keeps the targets under `load`. Nothing:
  // none does, and `last` says why the largest one does not.
  [[nodiscard]] std::optional<FleetMeasure> smallest(std::int64_t guess, std::int64_t most,
                                                     const Load& load, FleetMeasure& last);

  [[nodiscard]] std::int64_t simulations() const { return simulations_; }
  // Of the last run that began.
  [[nodiscard]] const ExpectedError& expected_error() const { return expected_error_; }

 private:
  struct Sums;

  // Adds one run; false: it loses requests or memory, and `measure` says how.
  [[nodiscard]] bool add_run(const Load& load, Sums& sums, FleetMeasure& measure);
  // Adds runs until there are `runs` of them; false as above.
  [[nodiscard]] bool add_runs(std::int64_t runs, const Load& load, Sums& sums,
                              FleetMeasure& measure);
  // Means, and verdicts on all targets, of the runs so far.
  void conclude(const Sums& sums, FleetMeasure& measure) const;
  // A recording that is neither overlaid with copies nor thinned is the same in every run.
  [[nodiscard]] bool always_the_same(const Load& load) const {
    return traffic_.is_recorded && plan_.scale * load.growth == 1;
  }
  // How many runs are made before each look at the intervals.
  [[nodiscard]] std::vector<std::int64_t> looks(const Load& load) const;

  const FleetPlanFile& plan_;
  const PlanCandidate& candidate_;
  const PlanTraffic& traffic_;
  const Catalog& catalog_;
  const std::atomic<bool>* interrupted_;
  std::int64_t simulations_ = 0;
  ExpectedError expected_error_;
};

}  // namespace headroom
