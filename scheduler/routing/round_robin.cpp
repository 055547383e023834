#include "scheduler/routing/round_robin.hpp"

namespace headroom {

std::uint32_t RoundRobinRouter::route(const Arrival&, std::span<const ReplicaLoad> loads) {
  const std::uint32_t replica = next_;
  next_ = (next_ + 1) % static_cast<std::uint32_t>(loads.size());
  return replica;
}

}  // namespace headroom
