#pragma once
// What results say of routes that count other tokens, or send requests on to others.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/resolve/run.hpp"

namespace headroom {

// Of one route, in order of the fleet's.
[[nodiscard]] nlohmann::ordered_json route_counts_json(const RouteCounts& counts);
// For all of them: the work on answers that were not kept.
[[nodiscard]] nlohmann::ordered_json wasted_json(const RunResult& result);
[[nodiscard]] std::vector<std::pair<std::string_view, std::string>> route_lines(
    const RunResult& result);

}  // namespace headroom
