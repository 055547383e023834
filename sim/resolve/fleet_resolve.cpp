// Groups of a fleet, each resolved as a scenario of its own.

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel/errors.hpp"
#include "sim/resolve/fleet_disaggregation.hpp"
#include "sim/resolve/fleet_factory.hpp"
#include "sim/resolve/fleet_lifecycle_factory.hpp"
#include "sim/resolve/parallel.hpp"
#include "sim/resolve/startup_budget.hpp"

namespace headroom {
namespace {

constexpr std::string_view kOnlyGroup = "replicas";  // the name of a fleet without groups

// The scenario of the group itself.
FleetGroup resolve_group(const GroupSection& section, const Scenario& scenario,
                         const Catalog& catalog) {
  FleetGroup group;
  group.name = section.name;
  group.weight = section.weight;
  group.role = role_of(section);
  group.cost_per_hour = section.cost_per_hour;
  auto [resolved, budget] = budgeted(resolve(scenario, catalog));
  group.resolved = std::move(resolved);
  group.budget = std::move(budget);
  group.pool_tokens = engine_pool_tokens(group.resolved, group.budget);
  group.values = resolved_values(group.resolved);
  return group;
}

// Groups were read with the scenario. What was set on it since then holds for them as well: a study
// gives each replication its seed, and a file its directory.
Scenario scenario_of_group(const GroupSection& section, const Scenario& scenario) {
  Scenario one = *section.scenario;
  one.seed = scenario.seed;
  one.directory = scenario.directory;
  const auto given = scenario.given.find("/seed");
  if (given != scenario.given.end()) one.given.insert_or_assign(given->first, given->second);
  return one;
}

}  // namespace

std::vector<FleetGroup> resolve_groups(const Scenario& scenario, const Catalog& catalog) {
  std::vector<FleetGroup> groups;
  if (is_fleet(scenario)) validate_fleet(scenario);
  const FleetSection& fleet = scenario.fleet;
  if (fleet.groups.empty()) {
    GroupSection all;
    all.name = kOnlyGroup;
    all.cost_per_hour = fleet.cost_per_hour;
    groups.push_back(resolve_group(all, scenario, catalog));
  }
  for (const GroupSection& section : fleet.groups) {
    try {
      groups.push_back(resolve_group(section, scenario_of_group(section, scenario), catalog));
    } catch (const ConfigError& error) {
      throw error.with_context(fmt::format("in fleet group {}", section.name));
    }
    // Results show what the whole scenario says.
    Scenario& own = groups.back().resolved.scenario;
    own.fleet = fleet;
    const auto begin = scenario.given.lower_bound("/fleet/");
    for (auto at = begin; at != scenario.given.end() && at->first.starts_with("/fleet/"); ++at) {
      own.given.insert(*at);
    }
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    auto& failure = groups[i].budget.failure;
    if (failure && is_fleet(scenario)) {
      failure->message = fmt::format("fleet group {}: {}", groups[i].name, failure->message);
    }
    const GroupSize size = size_of_group(scenario, i);
    groups[i].count = size.count;
    groups[i].places = size.places;
  }
  if (is_fleet(scenario)) {
    check_groups(scenario, groups);
    check_roles(scenario, groups);
  }
  return groups;
}

}  // namespace headroom
