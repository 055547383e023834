#pragma once
// What results say of routes that count other tokens, or send requests on to others.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/resolve/run.hpp"

namespace headroom {

[[nodiscard]] std::vector<std::pair<std::string_view, std::string>> route_lines(
    const RunResult& result);

}  // namespace headroom
