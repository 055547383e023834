// Several models behind one entry: who is whose.

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "scheduler/fleet/admission.hpp"
#include "scheduler/routing/route_split.hpp"
#include "scheduler/routing/routers.hpp"

namespace headroom::route_split_test {

namespace {

constexpr std::int64_t kOne = 1 << 20;

// Replicas 0 and 2 for 70 %, 1 and 3 for 30 %; requests of class 2 go to the second route.
RouteSplit two_routes(std::uint64_t seed = 1) {
  std::vector<RouteOptions> routes(2);
  for (std::uint32_t i = 0; i < 2; ++i) {
    RouterOptions options;
    options.replicas = 2;
    routes[i].replicas = {i, i + 2};
    routes[i].router = router_row("least_outstanding").make(options);
  }
  routes[0].share = 7 * kOne;
  routes[1].share = 3 * kOne;
  routes[1].classes = {2};
  return {std::move(routes), 4, seed};
}

}  // namespace

TEST_CASE("shares of the requests are those of the routes") {
  const RouteSplit split = two_routes();
  std::int64_t first = 0;
  constexpr std::uint64_t kRequests = 1'000'000;
  for (std::uint64_t i = 0; i < kRequests; ++i) first += split.route_of(0, i) == 0 ? 1 : 0;
  // Binomial: a deviation of 458.
  CHECK(std::abs(first - 700'000) < 4 * 458);
  // In every thousand too: a deviation of 14.5.
  for (std::uint64_t begin = 0; begin < 100'000; begin += 1000) {
    std::int64_t here = 0;
    for (std::uint64_t i = 0; i < 1000; ++i) here += split.route_of(0, begin + i) == 0 ? 1 : 0;
    CHECK(std::abs(here - 700) < 70);
  }
}

TEST_CASE("another seed is another draw, another class is none") {
  const RouteSplit one = two_routes(1);
  const RouteSplit other = two_routes(2);
  std::int64_t alike = 0;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    alike += one.route_of(0, i) == other.route_of(0, i) ? 1 : 0;
    REQUIRE(one.route_of(0, i) == one.route_of(1, i));
    REQUIRE(one.route_of(2, i) == 1);
  }
  CHECK(std::abs(alike - 5'800) < 200);  // .7 x .7 + .3 x .3, a deviation of 49
}

TEST_CASE("a route's router sees the route's replicas only") {
  RouteSplit split = two_routes();
  std::vector<ReplicaLoad> loads(4);
  loads[1].running = 5;
  loads[3].running = 4;
  for (std::uint32_t i = 0; i < 4; ++i) split.on_load(i, loads);
  Arrival arrival;
  arrival.class_id = 2;
  CHECK(split.route_numbered(arrival, 0, loads) == 3);
  loads[3].up = false;
  split.on_load(3, loads);
  CHECK(split.route_numbered(arrival, 1, loads) == 1);
  loads[1].up = false;  // none of its own is up: it stays in its route
  split.on_load(1, loads);
  CHECK(split.route_numbered(arrival, 2, loads) % 2 == 1);
}

TEST_CASE("requests of low priority leave places to those of the first") {
  PriorityPlaces policy(10, 6, -1);
  Arrival high;
  high.priority = -1;
  const Arrival low;
  CHECK(policy.admits(low, {.in_flight = 5}));
  CHECK_FALSE(policy.admits(low, {.in_flight = 6}));
  CHECK(policy.admits(high, {.in_flight = 9}));
  CHECK_FALSE(policy.admits(high, {.in_flight = 10}));
}

}  // namespace headroom::route_split_test
