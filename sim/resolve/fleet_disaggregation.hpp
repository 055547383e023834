#pragma once
// Fleets whose replicas prefill or decode: what may stand together, and their parts.

#include <vector>

#include "scheduler/routing/options.hpp"
#include "sim/resolve/run.hpp"
#include "sim/serving/fleet.hpp"

namespace headroom {

[[nodiscard]] ReplicaRole role_of(const GroupSection& group);
[[nodiscard]] bool has_roles(const std::vector<FleetGroup>& groups);

// What the scenario says of roles and of `fleet.disaggregation`. ConfigError.
void validate_disaggregation(const Scenario& scenario);
// What resolved groups cannot hand to each other. ConfigError. Nothing without roles.
void check_roles(const Scenario& scenario, const std::vector<FleetGroup>& groups);

// The role of a replica of this group.
void give_role(const FleetGroup& group, ReplicaParts& parts);
// Both routers, and the network between the replicas. `router`: options of one for all replicas.
void add_disaggregation(const Scenario& scenario, const std::vector<FleetGroup>& groups,
                        const RouterOptions& router, FleetParts& parts);

}  // namespace headroom
