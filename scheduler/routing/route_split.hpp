#pragma once
// Several models behind one entry: every request belongs to one route, by its class or by chance,
// and the route's own router chooses among the route's replicas.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "scheduler/routing/subset.hpp"
#include "sim/serving/route_router.hpp"

namespace headroom {

struct RouteOptions {
  std::vector<std::uint32_t> replicas;  // ascending; each replica is in one route at most
  std::int64_t share = 0;               // of the requests of other classes, against other routes
  std::vector<std::int32_t> classes;    // whose requests all go here
  std::unique_ptr<Router> router;       // numbers them from 0
};

class RouteSplit final : public RouteRouter {
 public:
  // `replicas` in the fleet, all of them in some route.
  RouteSplit(std::vector<RouteOptions> routes, std::size_t replicas, std::uint64_t seed);

  void on_load(std::uint32_t replica, std::span<const ReplicaLoad> loads) override;
  // Of request number 0.
  [[nodiscard]] std::uint32_t route(const Arrival& arrival,
                                    std::span<const ReplicaLoad> loads) override;
  [[nodiscard]] std::uint32_t route_numbered(const Arrival& arrival, std::uint64_t index,
                                             std::span<const ReplicaLoad> loads) override;

  // By its number alone, unless its class has a route.
  [[nodiscard]] std::size_t route_of(std::int32_t class_id, std::uint64_t index) const override;
  [[nodiscard]] std::uint32_t route_within(std::size_t route, const Arrival& arrival,
                                           std::uint64_t index,
                                           std::span<const ReplicaLoad> loads) override;

 private:
  struct Route {
    SubsetRouter router;
    std::int64_t share = 0;
  };

  std::vector<Route> routes_;
  std::vector<std::size_t> by_replica_;
  std::vector<std::size_t> by_class_;  // routes_.size(): by share
  std::int64_t shares_ = 0;
  std::uint64_t seed_;
};

}  // namespace headroom
