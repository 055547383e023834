#pragma once
// `headroom fleet plan PLAN`: the cheapest fleets that keep a plan's targets.

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "sim/app/sweep_command.hpp"

namespace headroom {

struct FleetPlanArguments {
  std::string plan;
  std::string output;                   // folder; empty: results/<name of the plan>
  std::string trace;                    // instead of the traffic's own; empty: that
  std::string catalog;                  // folder laid over the embedded one; empty: none
  std::optional<std::int64_t> threads;  // empty: all cores
  bool json = false;
};

// Writes plan.json, plan.html and, where a fleet keeps the targets, fleet.json (a scenario). With
// `json` and no folder only the text is made. ConfigError, DataError: the plan or a file is wrong.
[[nodiscard]] StudyAnswer fleet_plan_command(const FleetPlanArguments& arguments,
                                             const std::string& version,
                                             const std::atomic<bool>& interrupted);

}  // namespace headroom
