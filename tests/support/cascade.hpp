#pragma once
// Fleets whose routes send requests on to others.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scheduler/routing/route_split.hpp"
#include "scheduler/routing/routers.hpp"
#include "sim/serving/fleet.hpp"

namespace headroom::test {

// One route: so many replicas, numbered behind those of the routes before, and a share of the
// requests that arrive.
struct TestRoute {
  std::uint32_t replicas = 1;
  std::int64_t share = 0;
  RouteStage stage = {};
};

// The router over `routes`, and, with `stages`, what they make of requests.
[[nodiscard]] inline FleetParts cascade_parts(std::vector<TestRoute> routes,
                                              std::string_view policy, std::uint64_t seed,
                                              bool stages = true, TimeNs delay_ns = 0) {
  std::vector<RouteOptions> split(routes.size());
  RouteStagesParts parts;
  parts.seed = seed;
  std::uint32_t next = 0;
  for (std::size_t i = 0; i < routes.size(); ++i) {
    RouterOptions router;
    router.seed = seed;
    router.replicas = routes[i].replicas;
    router.update_delay_ns = delay_ns;
    for (std::uint32_t k = 0; k < routes[i].replicas; ++k) split[i].replicas.push_back(next++);
    split[i].share = routes[i].share;
    split[i].router = router_row(std::string(policy)).make(router);
    parts.routes.push_back(std::move(routes[i].stage));
    parts.routes.back().replicas = split[i].replicas;
  }
  auto router = std::make_unique<RouteSplit>(std::move(split), next, seed);
  FleetParts fleet;
  if (stages) {
    parts.router = router.get();
    fleet.stages = std::move(parts);
  }
  fleet.router = std::move(router);
  return fleet;
}

[[nodiscard]] inline TokenFactors factors(double input, double output, double thinking = 1) {
  return {.input = DecimalFactor(input, 1000, "input"),
          .output = DecimalFactor(output, 1000, "output"),
          .thinking = DecimalFactor(thinking, 1000, "thinking")};
}

}  // namespace headroom::test
