#include "scheduler/routing/least_kv.hpp"

namespace headroom {
namespace {

std::int64_t used_share(const ReplicaLoad& load) {
  return load.kv_capacity > 0 ? (load.kv_tokens << 20) / load.kv_capacity : 0;
}

}  // namespace

void LeastKvRouter::on_load(std::uint32_t replica, std::span<const ReplicaLoad> loads) {
  const ReplicaLoad& load = loads[replica];
  replicas_.set(replica, loads.size(), load.up, used_share(load));
}

std::uint32_t LeastKvRouter::route(const Arrival&, std::span<const ReplicaLoad>) {
  const std::uint32_t replica = replicas_.least();
  replicas_.choose(replica);
  return replica;
}

}  // namespace headroom
