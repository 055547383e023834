#pragma once
// The parts of a fleet from its resolved groups.

#include <vector>

#include "sim/resolve/run.hpp"
#include "sim/serving/fleet.hpp"

namespace headroom {

// Every group of the scenario, resolved and budgeted; one of one replica without a section `fleet`.
[[nodiscard]] std::vector<FleetGroup> resolve_groups(const Scenario& scenario,
                                                     const Catalog& catalog);

// What a fleet's groups cannot do together, once they are resolved. ConfigError.
void check_groups(const Scenario& scenario, const std::vector<FleetGroup>& groups);

// In order of the groups; says in each which constants price its steps.
[[nodiscard]] std::vector<ReplicaParts> make_replicas(const FaultsSection& faults,
                                                      std::vector<FleetGroup>& groups,
                                                      const Catalog& catalog);

// Router, admission and faults; and the options of the fleet itself. `slo`: by class of the
// workload, or empty. `replicas`: those of make_replicas, whose prices some routers know.
[[nodiscard]] FleetParts make_fleet_parts(const Scenario& scenario,
                                          const std::vector<FleetGroup>& groups,
                                          const std::vector<SloSection>& slo,
                                          const std::vector<ReplicaParts>& replicas);
[[nodiscard]] FleetOptions make_fleet_options(const Scenario& scenario);

}  // namespace headroom
