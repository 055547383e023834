#pragma once
// What the files of a deployment say at their head about what was simulated.

#include <string>
#include <vector>

#include "sim/resolve/run_verdict.hpp"
#include "sim/study/plan/fleet_planner.hpp"

namespace headroom {

// Of a run. ConfigError: it did not start, so there is nothing to deploy.
[[nodiscard]] std::vector<std::string> deployment_head(const RunResult& run,
                                                       const std::string& version,
                                                       const Catalog& catalog);
// Of a plan with a chosen fleet.
[[nodiscard]] std::vector<std::string> deployment_head(const FleetPlanFile& plan,
                                                       const FleetPlanResult& result,
                                                       const std::string& version);

}  // namespace headroom
