#pragma once
// The answer of `headroom fleet plan` as JSON.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/resolve/run_verdict.hpp"
#include "sim/study/plan/fleet_planner.hpp"

namespace headroom {

// What the answer rests on beside the model of Headroom, one sentence each.
[[nodiscard]] std::vector<std::string> plan_assumptions(const FleetPlanFile& plan,
                                                        const FleetPlanResult& result);
// The answer in one sentence: the cheapest fleet that keeps the targets, tight where the slow end
// of the expected error takes more replicas; does_not_hold where no candidate keeps them.
[[nodiscard]] RunVerdict plan_verdict(const FleetPlanFile& plan, const FleetPlanResult& result);
// `scenario`: of the chosen fleet, or null.
[[nodiscard]] nlohmann::ordered_json plan_json(const FleetPlanFile& plan,
                                               const FleetPlanResult& result,
                                               const Catalog& catalog, const std::string& version,
                                               const nlohmann::ordered_json& scenario);

}  // namespace headroom
