#include "scheduler/routing/session_affinity.hpp"

#include <algorithm>

#include "sim/serving/prefix.hpp"

namespace headroom {

SessionAffinityRouter::SessionAffinityRouter(const RouterOptions& options) {
  for (std::uint32_t replica = 0; replica < options.replicas; ++replica) {
    const double weight = options.weights.empty() ? 1.0 : options.weights[replica];
    const double points = static_cast<double>(options.ring_points) * weight + 0.5;
    const std::int64_t count = std::max<std::int64_t>(1, static_cast<std::int64_t>(points));
    for (std::int64_t k = 0; k < count; ++k) {
      ring_.emplace_back(mixed_id(replica, static_cast<std::uint64_t>(k)), replica);
    }
  }
  std::ranges::sort(ring_);
}

void SessionAffinityRouter::on_load(std::uint32_t replica, std::span<const ReplicaLoad> loads) {
  others_.on_load(replica, loads);
}

// The first point at or behind the session's own, of a replica that is up.
std::uint32_t SessionAffinityRouter::route(const Arrival& arrival,
                                           std::span<const ReplicaLoad> loads) {
  if (arrival.session == kNoSession) return others_.route(arrival, loads);
  constexpr std::uint64_t kSessions = 0x5E55;  // apart from the points of the replicas
  const std::pair<std::uint64_t, std::uint32_t> place{mixed_id(~arrival.session, kSessions), 0};
  const auto found = std::ranges::lower_bound(ring_, place);
  const auto start = static_cast<std::size_t>(found - ring_.begin());
  for (std::size_t i = 0; i < ring_.size(); ++i) {
    const std::uint32_t replica = ring_[(start + i) % ring_.size()].second;
    if (loads[replica].up) return replica;
  }
  return ring_[start % ring_.size()].second;
}

}  // namespace headroom
