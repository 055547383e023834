#pragma once
// Port: which replica gets a request. Looks, never changes a replica.

#include <cstdint>
#include <span>

#include "sim/serving/replica_load.hpp"
#include "sim/serving/request.hpp"

namespace headroom {

class Router {
 public:
  virtual ~Router() = default;

  // loads[replica] is not what it was when the router last saw it, or it sees it for the first
  // time: all of them are shown once before the first request. O(log replicas).
  virtual void on_load(std::uint32_t /*replica*/, std::span<const ReplicaLoad> /*loads*/) {}

  // Index into `loads`, which has one entry per replica: of one that is up, as long as there is
  // such. Must not take time in proportion to the number of replicas.
  [[nodiscard]] virtual std::uint32_t route(const Arrival& arrival,
                                            std::span<const ReplicaLoad> loads) = 0;
  // The same of request number `index` in order of arrival, for those that look at it. What a fleet
  // asks.
  [[nodiscard]] virtual std::uint32_t route_numbered(const Arrival& arrival,
                                                     std::uint64_t /*index*/,
                                                     std::span<const ReplicaLoad> loads) {
    return route(arrival, loads);
  }
};

}  // namespace headroom
