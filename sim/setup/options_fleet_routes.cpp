// Option rows of the routes of section `fleet`.

#include "sim/setup/options.hpp"

namespace headroom {
namespace {

template <auto Member>
constexpr auto of_route = +[](Scenario& s) -> auto& {
  return s.fleet.routes.front().*Member;
};

const OptionRow kRowsOfRoutes[] = {
    {.pointer = "/fleet/routes/name",
     .reach = of_route<&RouteSection::name>,
     .doc = "as results call it"},
    {.pointer = "/fleet/routes/groups",
     .reach = of_route<&RouteSection::groups>,
     .doc = "names of the groups that serve its requests; each group is in one route"},
    {.pointer = "/fleet/routes/share",
     .reach = of_route<&RouteSection::share>,
     .bounds = {.low = 0, .high = 1e6, .low_open = true},
     .doc = "of the requests whose class has no route, against the shares of other routes",
     .absent = "only requests of its classes"},
    {.pointer = "/fleet/routes/classes",
     .reach = of_route<&RouteSection::classes>,
     .doc = "names of the workload's classes all requests of which go here"},
    {.pointer = "/fleet/routes/policy",
     .reach = of_route<&RouteSection::policy>,
     .choices = "round_robin|random|least_outstanding|least_kv|power_of_two|join_shortest_tokens|"
                "session_affinity|prefix_affinity|weighted|slo_aware",
     .doc = "which of its replicas gets a request; other options are those of fleet.router",
     .absent = "fleet.router.policy"},
};

}  // namespace

std::span<const OptionRow> fleet_route_element_options() { return kRowsOfRoutes; }

}  // namespace headroom
