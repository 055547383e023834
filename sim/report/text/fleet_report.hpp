#pragma once
// What summary.json and the terminal say of a fleet. Only for results with groups.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/resolve/run.hpp"

namespace headroom {

// Label and text of each line.
[[nodiscard]] std::vector<std::pair<std::string_view, std::string>> fleet_lines(
    const RunResult& result);

}  // namespace headroom
