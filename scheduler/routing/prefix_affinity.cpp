#include "scheduler/routing/prefix_affinity.hpp"

namespace headroom {

PrefixAffinityRouter::PrefixAffinityRouter(const RouterOptions& options)
    : options_(options.prefix), view_(options) {}

void PrefixAffinityRouter::on_load(std::uint32_t replica, std::span<const ReplicaLoad> loads) {
  const ReplicaLoad& load = loads[replica];
  view_.on_load(replica, load);
  fewest_.set(replica, loads.size(), load.up, load.outstanding());
  most_.set(replica, loads.size(), load.up, -load.outstanding());
}

bool PrefixAffinityRouter::out_of_balance() const {
  const std::int64_t fewest = fewest_.value(fewest_.least());
  const std::int64_t most = -most_.value(most_.least());
  return most - fewest > options_.balance_abs &&
         static_cast<double>(most) > options_.balance_rel * static_cast<double>(fewest);
}

std::uint32_t PrefixAffinityRouter::route(const Arrival& arrival,
                                          std::span<const ReplicaLoad> loads) {
  const PrefixIndex& index = view_.look(arrival);
  std::uint32_t replica = fewest_.least();
  if (!out_of_balance()) {
    const std::vector<PrefixMatch> found = index.find(view_.steps(), 1);
    const double wanted = options_.cache_threshold * static_cast<double>(arrival.prompt_tokens);
    const bool enough = !found.empty() && static_cast<double>(found.front().tokens) > wanted;
    if (enough && loads[found.front().replica].up) replica = found.front().replica;
  }
  fewest_.choose(replica);
  view_.routed(replica);
  return replica;
}

}  // namespace headroom
