#include "scheduler/routing/routers.hpp"

#include <algorithm>

#include "scheduler/routing/join_shortest_tokens.hpp"
#include "scheduler/routing/least_kv.hpp"
#include "scheduler/routing/least_outstanding.hpp"
#include "scheduler/routing/power_of_two.hpp"
#include "scheduler/routing/prefix_affinity.hpp"
#include "scheduler/routing/random.hpp"
#include "scheduler/routing/round_robin.hpp"
#include "scheduler/routing/session_affinity.hpp"
#include "scheduler/routing/slo_aware.hpp"
#include "scheduler/routing/weighted.hpp"
#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

template <typename RouterType>
std::unique_ptr<Router> made(const RouterOptions& options) {
  if constexpr (std::is_constructible_v<RouterType, const RouterOptions&>) {
    return std::make_unique<RouterType>(options);
  } else {
    return std::make_unique<RouterType>();
  }
}

constexpr RouterRow kRows[] = {
    {"round_robin", made<RoundRobinRouter>, true},
    {"random", made<RandomRouter>, true},
    {"least_outstanding", made<LeastOutstandingRouter>},
    {"least_kv", made<LeastKvRouter>},
    {"power_of_two", made<PowerOfTwoRouter>},
    {"join_shortest_tokens", made<JoinShortestTokensRouter>},
    {"session_affinity", made<SessionAffinityRouter>, true},
    {"prefix_affinity", made<PrefixAffinityRouter>},
    {"weighted", made<WeightedRouter>},
    {"slo_aware", made<SloAwareRouter>},
};

}  // namespace

std::vector<std::int64_t> whole_weights(const RouterOptions& options) {
  constexpr double kLargest = 0x1p30;
  if (options.weights.empty()) return std::vector<std::int64_t>(options.replicas, 1);
  const double largest = *std::ranges::max_element(options.weights);
  std::vector<std::int64_t> whole;
  for (const double weight : options.weights) {
    const double share = kLargest * weight / largest + 0.5;
    whole.push_back(std::max<std::int64_t>(1, static_cast<std::int64_t>(share)));
  }
  return whole;
}

std::span<const RouterRow> router_rows() { return kRows; }

const RouterRow& router_row(std::string_view name) {
  const auto found = std::ranges::find(kRows, name, &RouterRow::name);
  HEADROOM_CHECK(found != std::end(kRows), "a router without a row");
  return *found;
}

}  // namespace headroom
