#pragma once
// Port: a router whose replicas are parted into routes, for a fleet that sends requests from one
// route to another.

#include <cstddef>
#include <cstdint>
#include <span>

#include "sim/serving/router.hpp"

namespace headroom {

class RouteRouter : public Router {
 public:
  // The route at which request number `index` arrives: by its class and number alone.
  [[nodiscard]] virtual std::size_t route_of(std::int32_t class_id, std::uint64_t index) const = 0;
  // As route_numbered, among the replicas of this route.
  [[nodiscard]] virtual std::uint32_t route_within(std::size_t route, const Arrival& arrival,
                                                   std::uint64_t index,
                                                   std::span<const ReplicaLoad> loads) = 0;
};

}  // namespace headroom
