#pragma once
// The answer of `headroom fleet plan`: for a terminal, as JSON, as a page.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/study/plan/fleet_planner.hpp"

namespace headroom {

// `assumed`: what is not in the plan's own assumptions. `files`: where they were written; empty:
// nowhere.
[[nodiscard]] std::string plan_text(const FleetPlanFile& plan, const FleetPlanResult& result,
                                    const Catalog& catalog, std::vector<std::string> assumed,
                                    const std::string& files);
// One self-contained HTML page of what plan_json returned.
[[nodiscard]] std::string plan_page(const nlohmann::ordered_json& answer,
                                    const std::string& version);

}  // namespace headroom
