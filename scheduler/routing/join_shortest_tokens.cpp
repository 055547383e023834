#include "scheduler/routing/join_shortest_tokens.hpp"

namespace headroom {

void JoinShortestTokensRouter::on_load(std::uint32_t replica, std::span<const ReplicaLoad> loads) {
  const ReplicaLoad& load = loads[replica];
  replicas_.set(replica, loads.size(), load.up, load.outstanding_tokens);
}

std::uint32_t JoinShortestTokensRouter::route(const Arrival&, std::span<const ReplicaLoad>) {
  const std::uint32_t replica = replicas_.least();
  replicas_.choose(replica);
  return replica;
}

}  // namespace headroom
