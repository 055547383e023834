#pragma once
// What summary.json and resolved.json say of a fleet. Only for results with groups.

#include <nlohmann/json.hpp>

#include "sim/resolve/run.hpp"

namespace headroom {

[[nodiscard]] nlohmann::ordered_json fleet_json(const RunResult& result);
// By group and pointer: its value and who set it.
[[nodiscard]] nlohmann::ordered_json group_values_json(const RunResult& result);

}  // namespace headroom
