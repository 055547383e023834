#include "scheduler/routing/least_outstanding.hpp"

namespace headroom {

void LeastOutstandingRouter::on_load(std::uint32_t replica, std::span<const ReplicaLoad> loads) {
  const ReplicaLoad& load = loads[replica];
  replicas_.set(replica, loads.size(), load.up, load.outstanding());
}

std::uint32_t LeastOutstandingRouter::route(const Arrival&, std::span<const ReplicaLoad>) {
  const std::uint32_t replica = replicas_.least();
  replicas_.choose(replica);
  return replica;
}

}  // namespace headroom
