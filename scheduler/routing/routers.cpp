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
    {.name = "round_robin",
     .make = made<RoundRobinRouter>,
     .uses_weights = true,
     .sees_replicas = false},
    {.name = "random", .make = made<RandomRouter>, .uses_weights = true, .sees_replicas = false},
    {.name = "least_outstanding", .make = made<LeastOutstandingRouter>},
    {.name = "least_kv", .make = made<LeastKvRouter>},
    {.name = "power_of_two", .make = made<PowerOfTwoRouter>},
    {.name = "join_shortest_tokens", .make = made<JoinShortestTokensRouter>},
    {.name = "session_affinity", .make = made<SessionAffinityRouter>, .uses_weights = true},
    {.name = "prefix_affinity", .make = made<PrefixAffinityRouter>},
    {.name = "weighted", .make = made<WeightedRouter>},
    {.name = "slo_aware", .make = made<SloAwareRouter>, .keeps_promises = true},
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

std::string router_choices(bool (*takes)(const RouterRow& row)) {
  std::string names;
  for (const RouterRow& row : kRows) {
    if (!takes(row)) continue;
    if (!names.empty()) names += '|';
    names += row.name;
  }
  return names;
}

const RouterRow& router_row(std::string_view name) {
  const auto found = std::ranges::find(kRows, name, &RouterRow::name);
  HEADROOM_CHECK(found != std::end(kRows), "a router without a row");
  return *found;
}

}  // namespace headroom
