#include "scheduler/batching/rank_balancer.hpp"

#include <algorithm>

#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

constexpr TimeNs kMs = 1'000'000;
constexpr TimeNs kChangedNs = 100 * kMs;  // from one publication to the next
constexpr TimeNs kUnchangedNs = 5000 * kMs;
constexpr TimeNs kCollectingNs = 50 * kMs;  // that a report waits for others of the same step

}  // namespace

RankBalancer::RankBalancer(std::size_t ranks, std::size_t front_ends, std::uint64_t seed)
    : connections_(seed, "front ends"), queues_(ranks), published_ns_(-kUnchangedNs) {
  HEADROOM_CHECK(ranks > 0 && front_ends > 0, "a balancer without ranks or front ends");
  for (std::size_t i = 0; i < front_ends; ++i) {
    front_ends_.push_back({queues_, ranks * i / front_ends});
  }
}

std::size_t RankBalancer::choose(TimeNs now_ns) {
  publish_until(now_ns);
  const auto last = static_cast<std::int64_t>(front_ends_.size()) - 1;
  FrontEnd& front_end = front_ends_[static_cast<std::size_t>(connections_.uniform_int(0, last))];
  const auto score = [](const RankQueue& queue) { return 4 * queue.waiting + queue.running; };
  std::size_t best = front_end.first;
  for (std::size_t i = 1; i < queues_.size(); ++i) {
    const std::size_t rank = (front_end.first + i) % queues_.size();
    if (score(front_end.known[rank]) < score(front_end.known[best])) best = rank;
  }
  // The others are taken to send as many.
  front_end.known[best].waiting += static_cast<std::int64_t>(front_ends_.size());
  return best;
}

void RankBalancer::report(TimeNs now_ns, std::span<const RankQueue> queues) {
  publish_until(now_ns);
  if (std::ranges::equal(queues, queues_)) return;
  if (changed_) {
    step_before_ = queues_;
    has_step_before_ = true;
  }
  queues_.assign(queues.begin(), queues.end());
  changed_ = true;
  publish_ns_ =
      std::max(now_ns + (has_step_before_ ? TimeNs{0} : kCollectingNs), published_ns_ + kChangedNs);
}

// While reports of a step may be missing, those of the step before go out.
void RankBalancer::publish_until(TimeNs now_ns) {
  while (publish_ns_ <= now_ns) {
    const std::vector<RankQueue>& counts = has_step_before_ ? step_before_ : queues_;
    for (FrontEnd& front_end : front_ends_) front_end.known = counts;
    if (!has_step_before_) changed_ = false;
    has_step_before_ = false;
    // Those that find nothing changed are alike.
    const TimeNs repeated = changed_ ? 0 : (now_ns - publish_ns_) / kUnchangedNs * kUnchangedNs;
    published_ns_ = publish_ns_ + repeated;
    publish_ns_ = published_ns_ + (changed_ ? kChangedNs : kUnchangedNs);
  }
}

}  // namespace headroom
