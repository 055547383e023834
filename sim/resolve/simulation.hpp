#pragma once
// A run between its parts and its results: what `run` (run.hpp) drives at once, and LiveRun by a
// clock.

#include <memory>
#include <optional>
#include <vector>

#include "hardware/catalog.hpp"
#include "sim/metrics/fan_out.hpp"
#include "sim/metrics/summary.hpp"
#include "sim/resolve/run.hpp"
#include "sim/resolve/workload_factory.hpp"
#include "sim/serving/fleet.hpp"

namespace headroom {

// Resolves and budgets the scenario. `given`: requests from elsewhere; absent: those that the
// scenario describes. Either is in `workload` afterwards.
[[nodiscard]] RunResult prepare_run(const Scenario& scenario, const Catalog& catalog,
                                    std::optional<Workload> given, Workload& workload);

// The parts of all replicas of a prepared run; says in `result` which constants price their steps.
[[nodiscard]] std::vector<ReplicaParts> make_parts(RunResult& result, const Catalog& catalog);

class Simulation {
 public:
  // Of a prepared run whose budget has not failed. All arguments outlive this object; `result`
  // gets the recorder now, and the results from settle().
  Simulation(const Catalog& catalog, const RunControl& control, Workload& workload,
             RunResult& result, bool follows_requests = false);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  [[nodiscard]] Fleet& fleet() { return *fleet_; }
  [[nodiscard]] const Fleet& fleet() const { return *fleet_; }
  // The fleet has stopped.
  void settle(StopReason stop);

 private:
  RunResult& result_;
  SummaryOptions summary_;
  std::unique_ptr<WorkloadSource> counting_;
  std::optional<FanOut> both_;
  std::unique_ptr<Fleet> fleet_;
};

// What is known of a result only now, whether anything ran or not: its expected error, counts of
// the workload, and warnings.
void conclude_run(const Catalog& catalog, Workload& workload, RunResult& result);

}  // namespace headroom
