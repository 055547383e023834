#pragma once
// The routes of a fleet: several models behind one entry.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/routing/options.hpp"
#include "sim/resolve/run.hpp"
#include "sim/serving/route_router.hpp"

namespace headroom {

// The route that group `name` is in; call only if there are routes and all their groups are known.
[[nodiscard]] std::size_t route_of_group(const FleetSection& fleet, const std::string& name);

// Options of the fleet's router are those of each route's, for its own replicas.
[[nodiscard]] std::unique_ptr<RouteRouter> make_routes(const Scenario& scenario,
                                                       const std::vector<FleetGroup>& groups,
                                                       const RouterOptions& all);

// Of validate_fleet. ConfigError.
void validate_fleet_routes(const Scenario& scenario);

}  // namespace headroom
