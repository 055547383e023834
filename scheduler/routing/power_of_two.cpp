#include "scheduler/routing/power_of_two.hpp"

#include "scheduler/routing/draw.hpp"

namespace headroom {

PowerOfTwoRouter::PowerOfTwoRouter(const RouterOptions& options)
    : stream_(options.seed, "routing") {
  up_.resize(options.replicas);
}

void PowerOfTwoRouter::on_load(std::uint32_t replica, std::span<const ReplicaLoad> loads) {
  up_.set(replica, loads[replica].up ? 1 : 0);
}

// Two different ones, as long as there are two; all ordered pairs are equally likely.
std::uint32_t PowerOfTwoRouter::route(const Arrival&, std::span<const ReplicaLoad> loads) {
  const bool any = up_.total() > 0;
  const std::int64_t count = any ? up_.total() : static_cast<std::int64_t>(loads.size());
  const auto replica_at = [&](std::int64_t k) {
    return any ? up_.at(k) : static_cast<std::uint32_t>(k);
  };
  const std::uint64_t bits = stream_.bits();
  if (count == 1) return replica_at(0);
  const std::int64_t pair = scaled(bits, count * (count - 1));
  const std::int64_t first = pair / (count - 1);
  std::int64_t second = pair % (count - 1);
  if (second >= first) ++second;
  const std::uint32_t one = replica_at(first);
  const std::uint32_t other = replica_at(second);
  return loads[other].outstanding() < loads[one].outstanding() ? other : one;
}

}  // namespace headroom
