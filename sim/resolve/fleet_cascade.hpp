#pragma once
// Routes whose models count other tokens, and routes that send requests on to others.

#include <optional>
#include <string>
#include <vector>

#include "sim/resolve/run.hpp"
#include "sim/serving/route_options.hpp"

namespace headroom {

// Whether some route sends requests to the one of this name.
[[nodiscard]] bool is_escalated_to(const FleetSection& fleet, const std::string& name);
// Whether answers of some route are judged before their clients see them.
[[nodiscard]] bool judges_answers(const FleetSection& fleet);

// Nothing as long as every request stays what it is, where it came.
[[nodiscard]] std::optional<RouteStagesParts> make_route_stages(
    const Scenario& scenario, const std::vector<FleetGroup>& groups, RouteRouter& router);

// Of validate_fleet_routes. ConfigError.
void validate_fleet_cascade(const Scenario& scenario);

}  // namespace headroom
