#include "scheduler/routing/route_split.hpp"

#include <algorithm>
#include <utility>

#include "scheduler/routing/draw.hpp"
#include "sim/kernel/check.hpp"
#include "sim/serving/prefix.hpp"

namespace headroom {
namespace {

constexpr std::uint64_t kRoutes = 0x40A7E5;  // apart from other numbers made of the seed

}  // namespace

RouteSplit::RouteSplit(std::vector<RouteOptions> routes, std::size_t replicas, std::uint64_t seed)
    : by_replica_(replicas), seed_(mixed_id(seed, kRoutes)) {
  std::size_t placed = 0;
  for (RouteOptions& options : routes) {
    const std::size_t number = routes_.size();
    for (const std::uint32_t replica : options.replicas) by_replica_.at(replica) = number;
    placed += options.replicas.size();
    for (const std::int32_t class_id : options.classes) {
      const auto id = static_cast<std::size_t>(class_id);
      if (id >= by_class_.size()) by_class_.resize(id + 1, routes.size());
      by_class_[id] = number;
    }
    shares_ += options.share;
    routes_.push_back(
        {SubsetRouter(std::move(options.router), std::move(options.replicas), replicas),
         options.share});
  }
  HEADROOM_CHECK(placed == replicas, "a replica in no route, or in two");
}

void RouteSplit::on_load(std::uint32_t replica, std::span<const ReplicaLoad> loads) {
  routes_[by_replica_[replica]].router.on_load(replica, loads);
}

std::uint32_t RouteSplit::route(const Arrival& arrival, std::span<const ReplicaLoad> loads) {
  return route_numbered(arrival, 0, loads);
}

std::uint32_t RouteSplit::route_numbered(const Arrival& arrival, std::uint64_t index,
                                         std::span<const ReplicaLoad> loads) {
  return route_within(route_of(arrival.class_id, index), arrival, index, loads);
}

std::uint32_t RouteSplit::route_within(std::size_t route, const Arrival& arrival,
                                       std::uint64_t index, std::span<const ReplicaLoad> loads) {
  return routes_[route].router.route_numbered(arrival, index, loads);
}

std::size_t RouteSplit::route_of(std::int32_t class_id, std::uint64_t index) const {
  const auto id = static_cast<std::size_t>(class_id);
  if (id < by_class_.size() && by_class_[id] < routes_.size()) return by_class_[id];
  HEADROOM_CHECK(shares_ > 0, "a request without a route");
  std::int64_t place = scaled(mixed_id(seed_, index), shares_);
  std::size_t number = 0;
  while (place >= routes_[number].share) place -= routes_[number++].share;
  return number;
}

}  // namespace headroom
