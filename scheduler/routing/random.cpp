#include "scheduler/routing/random.hpp"

#include "scheduler/routing/draw.hpp"

namespace headroom {

RandomRouter::RandomRouter(const RouterOptions& options)
    : stream_(options.seed, "routing"), weights_(whole_weights(options)) {
  all_.resize(weights_.size());
  up_.resize(weights_.size());
  for (std::size_t i = 0; i < weights_.size(); ++i) all_.set(i, weights_[i]);
}

void RandomRouter::on_load(std::uint32_t replica, std::span<const ReplicaLoad> loads) {
  up_.set(replica, loads[replica].up ? weights_[replica] : 0);
}

std::uint32_t RandomRouter::route(const Arrival&, std::span<const ReplicaLoad>) {
  const WeightTree& tree = up_.total() > 0 ? up_ : all_;
  return tree.at(scaled(stream_.bits(), tree.total()));
}

}  // namespace headroom
