#include "sim/resolve/fleet_routes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "scheduler/routing/route_split.hpp"
#include "scheduler/routing/routers.hpp"
#include "sim/kernel/check.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/resolve/fleet_cascade.hpp"
#include "sim/resolve/fleet_lifecycle_factory.hpp"
#include "sim/serving/prefix.hpp"

namespace headroom {
namespace {

// Shares as whole numbers; the largest has 2^40, so that a thousand of them fit.
std::vector<std::int64_t> whole_shares(const std::vector<RouteSection>& routes) {
  constexpr double kLargest = 0x1p40;
  double largest = 0;
  for (const RouteSection& route : routes) largest = std::max(largest, route.share.value_or(0));
  std::vector<std::int64_t> whole;
  for (const RouteSection& route : routes) {
    if (!route.share) {
      whole.push_back(0);
      continue;
    }
    const double share = kLargest * *route.share / largest + 0.5;
    whole.push_back(std::max<std::int64_t>(1, static_cast<std::int64_t>(share)));
  }
  return whole;
}

std::int32_t class_number(const Scenario& scenario, const std::string& name) {
  const auto& classes = scenario.workload.classes;
  const auto found = std::ranges::find_if(
      classes, [&](const WorkloadClass& one) { return one.workload.name == name; });
  return found == classes.end() ? -1 : static_cast<std::int32_t>(found - classes.begin());
}

class RoutesValidator {
 public:
  explicit RoutesValidator(const Scenario& scenario) : s_(scenario), fleet_(scenario.fleet) {}

  void check() const {
    std::vector<std::string> served;
    std::vector<std::string> routed;
    bool shares = false;
    for (std::size_t i = 0; i < fleet_.routes.size(); ++i) {
      const RouteSection& route = fleet_.routes[i];
      const std::string here = fmt::format("/fleet/routes/{}", i);
      shares |= route.share.has_value();
      if (!route.share && route.classes.empty() && !is_escalated_to(fleet_, route.name)) {
        s_.refuse(here, "missing: share or classes", ErrorKind::missing);
      }
      check_name(i, here);
      for (const std::string& name : route.groups) {
        if (std::ranges::find(fleet_.groups, name, &GroupSection::name) == fleet_.groups.end()) {
          s_.refuse_value(here + "/groups", fmt::format("\"{}\"", name), "no group has this name",
                          ErrorKind::unknown);
        }
        add_once(served, name, here + "/groups");
      }
      for (const std::string& name : route.classes) {
        if (class_number(s_, name) < 0) {
          s_.refuse_value(here + "/classes", fmt::format("\"{}\"", name),
                          "no class of the workload has this name", ErrorKind::unknown);
        }
        add_once(routed, name, here + "/classes");
      }
    }
    for (const GroupSection& group : fleet_.groups) {
      if (std::ranges::find(served, group.name) == served.end()) {
        s_.refuse("/fleet/routes", fmt::format("group \"{}\" is in no route", group.name),
                  ErrorKind::missing);
      }
    }
    check_shares(shares, routed);
    check_policy();
  }

 private:
  void check_policy() const {
    const bool is_taken =
        std::ranges::any_of(fleet_.routes, [](const RouteSection& route) { return !route.policy; });
    if (is_taken || !s_.is_given("/fleet/router/policy")) return;
    s_.refuse_unused("/fleet/router/policy", ": every route has its own policy");
  }

  void check_name(std::size_t i, const std::string& here) const {
    for (std::size_t k = 0; k < i; ++k) {
      if (fleet_.routes[k].name != fleet_.routes[i].name) continue;
      s_.refuse_value(here + "/name", fmt::format("\"{}\"", fleet_.routes[i].name),
                      "another route has this name", ErrorKind::conflict);
    }
  }

  void check_shares(bool shares, const std::vector<std::string>& routed) const {
    std::vector<std::string> others;
    for (const WorkloadClass& one : s_.workload.classes) {
      const std::string& name = one.workload.name;
      if (std::ranges::find(routed, name) == routed.end()) others.push_back(name);
    }
    const bool some = s_.workload.classes.empty() || !others.empty();
    if (shares && !some) {
      s_.refuse("/fleet/routes", "share has no effect, because every class has its own route",
                ErrorKind::no_effect);
    }
    if (!shares && some) {
      s_.refuse("/fleet/routes",
                others.empty() ? "missing: share (the workload has no classes)"
                               : fmt::format("class \"{}\" has no route, and no route has a share",
                                             others.front()),
                ErrorKind::missing);
    }
  }

  void add_once(std::vector<std::string>& names, const std::string& name,
                const std::string& pointer) const {
    if (std::ranges::find(names, name) != names.end()) {
      s_.refuse_value(pointer, fmt::format("\"{}\"", name), "it already has a route",
                      ErrorKind::conflict);
    }
    names.push_back(name);
  }

  const Scenario& s_;
  const FleetSection& fleet_;
};

}  // namespace

std::size_t route_of_group(const FleetSection& fleet, const std::string& name) {
  for (std::size_t i = 0; i < fleet.routes.size(); ++i) {
    const auto& groups = fleet.routes[i].groups;
    if (std::ranges::find(groups, name) != groups.end()) return i;
  }
  HEADROOM_CHECK(false, "a group without a route");
  return 0;
}

std::unique_ptr<RouteRouter> make_routes(const Scenario& scenario,
                                         const std::vector<FleetGroup>& groups,
                                         const RouterOptions& all) {
  const FleetSection& fleet = scenario.fleet;
  const std::vector<std::int64_t> shares = whole_shares(fleet.routes);
  std::vector<RouteOptions> routes(fleet.routes.size());
  std::uint32_t replica = 0;
  for (const FleetGroup& group : groups) {
    RouteOptions& route = routes[route_of_group(fleet, group.name)];
    for (std::int64_t i = 0; i < group.places; ++i) route.replicas.push_back(replica++);
  }
  for (std::size_t i = 0; i < routes.size(); ++i) {
    const RouteSection& section = fleet.routes[i];
    RouterOptions own = all;
    own.seed = mixed_id(all.seed, i);
    own.replicas = routes[i].replicas.size();
    own.weights.clear();
    own.slo.models.clear();
    for (const std::uint32_t number : routes[i].replicas) {
      own.weights.push_back(all.weights[number]);
      own.slo.models.push_back(all.slo.models[number]);
    }
    routes[i].router = router_row(section.policy.value_or(fleet.router.policy)).make(own);
    routes[i].share = shares[i];
    for (const std::string& name : section.classes) {
      routes[i].classes.push_back(class_number(scenario, name));
    }
  }
  return std::make_unique<RouteSplit>(std::move(routes), replica, all.seed);
}

void validate_fleet_routes(const Scenario& scenario) {
  if (scenario.fleet.routes.empty()) return;
  validate_fleet_cascade(scenario);  // first: routes without a share are those that it names
  RoutesValidator(scenario).check();
}

}  // namespace headroom
