#include "scheduler/routing/weighted.hpp"

namespace headroom {
namespace {

// Of replicas that have parts of a prompt, so many are compared: those with the longest ones. Among
// the others only the least loaded can cost least, but for parts shorter than all of these.
constexpr std::size_t kMostMatches = 32;

}  // namespace

WeightedRouter::WeightedRouter(const RouterOptions& options)
    : options_(options.weighted), view_(options) {}

void WeightedRouter::on_load(std::uint32_t replica, std::span<const ReplicaLoad> loads) {
  const ReplicaLoad& load = loads[replica];
  view_.on_load(replica, load);
  const double waiting = options_.prefix_weight * static_cast<double>(load.waiting_tokens);
  const double kv = options_.kv_weight * static_cast<double>(load.kv_tokens);
  const double requests = options_.request_weight * static_cast<double>(load.outstanding());
  loads_.set(replica, loads.size(), load.up, waiting + kv + requests);
}

std::uint32_t WeightedRouter::route(const Arrival& arrival, std::span<const ReplicaLoad> loads) {
  const PrefixIndex& index = view_.look(arrival);
  const auto cost = [&](std::uint32_t replica, TokenCount overlap) {
    return loads_.value(replica) - options_.prefix_weight * static_cast<double>(overlap);
  };
  std::uint32_t best = loads_.least();
  double least = cost(best, index.overlap(best, view_.steps()));
  for (const PrefixMatch& match : index.find(view_.steps(), kMostMatches)) {
    const double here = cost(match.replica, match.tokens);
    if (!loads[match.replica].up || here >= least) continue;
    best = match.replica;
    least = here;
  }
  loads_.choose(best);
  view_.routed(best);
  return best;
}

}  // namespace headroom
