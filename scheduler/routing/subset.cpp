#include "scheduler/routing/subset.hpp"

#include <utility>

#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

constexpr std::uint32_t kNobody = UINT32_MAX;

}  // namespace

SubsetRouter::SubsetRouter(std::unique_ptr<Router> inner, std::vector<std::uint32_t> members,
                           std::size_t replicas)
    : inner_(std::move(inner)),
      members_(std::move(members)),
      places_(replicas, kNobody),
      loads_(members_.size()) {
  HEADROOM_CHECK(inner_ && !members_.empty(), "a router without replicas");
  for (std::size_t i = 0; i < members_.size(); ++i) {
    places_.at(members_[i]) = static_cast<std::uint32_t>(i);
  }
}

void SubsetRouter::on_load(std::uint32_t replica, std::span<const ReplicaLoad> loads) {
  const std::uint32_t place = places_[replica];
  if (place == kNobody) return;
  loads_[place] = loads[replica];
  inner_->on_load(place, loads_);
}

std::uint32_t SubsetRouter::route(const Arrival& arrival, std::span<const ReplicaLoad> /*loads*/) {
  return members_.at(inner_->route(arrival, loads_));
}

std::uint32_t SubsetRouter::route_numbered(const Arrival& arrival, std::uint64_t index,
                                           std::span<const ReplicaLoad> /*loads*/) {
  return members_.at(inner_->route_numbered(arrival, index, loads_));
}

}  // namespace headroom
