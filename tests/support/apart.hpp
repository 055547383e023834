#pragma once
// A fleet whose replicas prefill or decode, with parts of the test's own.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/routing/routers.hpp"
#include "scheduler/routing/subset.hpp"
#include "sim/serving/fleet.hpp"

namespace headroom::test {

// Routers over the replicas of each role, of `parts` in their order.
[[nodiscard]] inline FleetParts apart_parts(const std::vector<ReplicaParts>& parts,
                                            const std::string& router,
                                            const DisaggregationOptions& options,
                                            const RouterOptions& router_options = {}) {
  const auto over = [&](ReplicaRole role) -> std::unique_ptr<Router> {
    std::vector<std::uint32_t> members;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].options.role == role) members.push_back(static_cast<std::uint32_t>(i));
    }
    RouterOptions of_role = router_options;
    of_role.replicas = members.size();
    return std::make_unique<SubsetRouter>(router_row(router).make(of_role), std::move(members),
                                          parts.size());
  };
  FleetParts fleet{over(ReplicaRole::prefill)};
  fleet.disaggregation.emplace(DisaggregationParts{options, over(ReplicaRole::decode)});
  return fleet;
}

}  // namespace headroom::test
