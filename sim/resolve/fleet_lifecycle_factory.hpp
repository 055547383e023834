#pragma once
// How many replicas the groups of a fleet have and may have, where they stand, and what makes them
// come, go and restart.

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "sim/resolve/run.hpp"
#include "sim/serving/fleet_lifecycle.hpp"

namespace headroom {

struct GroupSize {
  std::int64_t count = 1;   // at the beginning
  std::int64_t places = 1;  // the most at once
};
// Of group `index` of the section; 0 where it lists none.
[[nodiscard]] GroupSize size_of_group(const Scenario& scenario, std::size_t index);

// Of the group with this name; nullptr: its number of replicas stays.
[[nodiscard]] const AutoscalingSection* autoscaling_of(const FleetSection& fleet,
                                                       std::string_view group);

// From the node to the first request, >= 1: its engine's restart_s unless the scenario says.
[[nodiscard]] TimeNs start_ns_of(const FleetSection& fleet, const FleetGroup& group);

// By number of replica.
[[nodiscard]] std::vector<std::int64_t> zones_of_replicas(const Scenario& scenario);

// Nullptr: replicas neither come nor go.
[[nodiscard]] std::unique_ptr<FleetLifecycle> make_lifecycle(const Scenario& scenario,
                                                             const std::vector<FleetGroup>& groups);

// Of validate_fleet: autoscaling, restarts and zones. ConfigError.
void validate_fleet_scaling(const Scenario& scenario);

}  // namespace headroom
