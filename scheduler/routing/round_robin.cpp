#include "scheduler/routing/round_robin.hpp"

#include <algorithm>

namespace headroom {
namespace {

// Strides of the lightest replica; others are shorter. 2^62 / 2^30 choices fit.
constexpr double kLongestStride = 0x1p30;

std::vector<std::int64_t> strides_of(const std::vector<double>& weights) {
  std::vector<std::int64_t> strides;
  if (weights.empty()) return strides;
  const double lightest = *std::ranges::min_element(weights);
  for (const double weight : weights) {
    strides.push_back(
        std::max<std::int64_t>(1, static_cast<std::int64_t>(kLongestStride * lightest / weight)));
  }
  return strides;
}

}  // namespace

RoundRobinRouter::RoundRobinRouter(const RouterOptions& options)
    : strides_(strides_of(options.weights)) {}

void RoundRobinRouter::on_load(std::uint32_t replica, std::span<const ReplicaLoad> loads) {
  if (tree_.size() != loads.size()) tree_.resize(loads.size(), Key{});
  Key key = tree_.key(replica);
  if (key.down == !loads[replica].up) return;
  key.down = !loads[replica].up;
  // A replica that comes back does not catch up on missed turns.
  const Key& next = tree_.key(tree_.least());
  if (!key.down && !next.down) key.place = std::max(key.place, next.place);
  tree_.set(replica, key);
}

std::uint32_t RoundRobinRouter::route(const Arrival&, std::span<const ReplicaLoad>) {
  const std::uint32_t replica = tree_.least();
  Key key = tree_.key(replica);
  key.place += strides_.empty() ? 1 : strides_[replica];
  tree_.set(replica, key);
  return replica;
}

}  // namespace headroom
