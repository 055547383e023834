#pragma once
// The lists of section `fleet`: groups of replicas, and faults by schedule.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/scenario/options.hpp"

namespace headroom {

[[nodiscard]] bool is_fleet_list(std::string_view pointer);
// After everything else of the document: a group is the scenario with what it says instead. A
// section that a group names otherwise (another device, another engine) begins from its defaults;
// else the group's options stand beside those of the scenario.
void read_fleet_lists(const JsonDocument& document, Scenario& scenario);

// The contents of those lists: the pointer and the value of each given value.
[[nodiscard]] std::vector<std::pair<std::string, Json>> fleet_list_values(const Scenario& scenario);

}  // namespace headroom
