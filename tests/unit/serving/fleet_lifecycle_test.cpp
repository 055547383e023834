// Replicas that come, drain, restart and go, without engines.

#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/serving/fleet_lifecycle.hpp"

namespace headroom::fleet_lifecycle_test {

namespace {

constexpr TimeNs kSecond = kNsPerSecond;

// Says what it is told to say, and remembers what it was asked.
class Told final : public ScalingPolicy {
 public:
  Told(std::int64_t& wanted, ScalingView& seen) : wanted_(wanted), seen_(seen) {}
  std::int64_t desired(const ScalingView& view) override {
    seen_ = view;
    return wanted_;
  }

 private:
  std::int64_t& wanted_;
  ScalingView& seen_;
};

class Places {
 public:
  explicit Places(std::uint32_t initial, const std::vector<RollingRestart>& restarts = {},
                  ScalingMetric metric = ScalingMetric::queue) {
    LifecycleGroup group;
    group.places = 4;
    group.initial = initial;
    group.start_ns = 20 * kSecond;
    group.provisioning_ns = 100 * kSecond;
    group.nodes_ready = 1;
    group.policy = std::make_unique<Told>(wanted, seen);
    group.metric = metric;
    group.percentile = 50;
    group.overdue_ns = 3 * kSecond;
    group.interval_ns = 10 * kSecond;
    std::vector<LifecycleGroup> groups;
    groups.push_back(std::move(group));
    lifecycle = std::make_unique<FleetLifecycle>(std::move(groups), restarts);
    wanted = initial;
    for (std::uint32_t i = 0; i < initial; ++i) load(i, true, 0, 0);
  }

  void load(std::uint32_t replica, bool up, std::int64_t waiting, TimeNs now_ns) {
    ReplicaLoad one;
    one.up = up;
    one.waiting = waiting;
    lifecycle->on_load(replica, one, waiting == 0, now_ns);
  }
  // What is ordered: "close 1", "start 2 at 30", "end 3".
  std::string orders() {
    std::string text;
    while (const auto order = lifecycle->take_order()) {
      const char* const names[] = {"close ", "start ", "end "};
      text += names[static_cast<std::size_t>(order->kind)] + std::to_string(order->replica);
      if (order->kind == ReplicaOrder::Kind::start) {
        text += " at " + std::to_string(order->ready_ns / kSecond);
      }
      text += "; ";
    }
    return text;
  }
  std::string act(std::int64_t second) {
    CHECK(lifecycle->next_time() == second * kSecond);
    lifecycle->act(second * kSecond);
    return orders();
  }

  std::int64_t wanted = 1;
  ScalingView seen;
  std::unique_ptr<FleetLifecycle> lifecycle;
};

}  // namespace

TEST_CASE("a node that stands idle saves the provisioning") {
  Places places(1);
  places.wanted = 3;
  CHECK(places.act(10) == "start 1 at 30; start 2 at 130; ");
  CHECK(places.lifecycle->exists(2));
  CHECK_FALSE(places.lifecycle->takes(1));
  places.load(1, false, 0, 10 * kSecond);
  CHECK(places.act(20).empty());
  CHECK(places.seen.replicas == 3);
  CHECK(places.seen.ready == 1);
  places.load(1, true, 0, 30 * kSecond);
  CHECK(places.lifecycle->takes(1));
}

TEST_CASE("the metric is the mean over ready replicas and time") {
  Places places(2);
  places.load(0, true, 6, 0);            // 6 waiting for 10 s
  places.load(1, true, 8, 5 * kSecond);  // 8 waiting for 5 s
  places.wanted = 2;
  static_cast<void>(places.act(10));
  CHECK(places.seen.metric == 5);  // (60 + 40) / 20
  places.load(1, false, 8, 12 * kSecond);
  static_cast<void>(places.act(20));
  CHECK(places.seen.ready == 1);
  CHECK(places.seen.metric == 6);
}

TEST_CASE("a latency is a percentile of what came since the last decision") {
  for (const ScalingMetric metric : {ScalingMetric::ttft, ScalingMetric::tpot}) {
    const bool first = metric == ScalingMetric::ttft;
    Places places(2, {}, metric);
    LatencyWindow* window = first ? places.lifecycle->ttft_of(1) : places.lifecycle->tpot_of(1);
    REQUIRE(window != nullptr);
    CHECK((first ? places.lifecycle->tpot_of(1) : places.lifecycle->ttft_of(1)) == nullptr);
    CHECK(places.lifecycle->overdue_of(0) ==
          (first ? std::optional<TimeNs>(3 * kSecond) : std::nullopt));
    window->add(kSecond / 2);
    window->add(kSecond);
    window->add(7 * kSecond);
    places.wanted = 3;
    CHECK(places.act(10) == "start 2 at 30; ");
    CHECK(places.seen.metric == 1000);  // ms
    places.load(2, false, 0, 10 * kSecond);
    places.wanted = 1;
    CHECK(places.act(20).empty());  // nobody was asked: there is nothing to decide by
    CHECK(places.seen.now_ns == 10 * kSecond);
    window->add(kSecond);
    CHECK(places.act(30) == "end 2; close 1; ");
  }
}

TEST_CASE("no latency is asked for where the load decides") {
  Places places(2);
  CHECK(places.lifecycle->ttft_of(0) == nullptr);
  CHECK(places.lifecycle->tpot_of(0) == nullptr);
  CHECK_FALSE(places.lifecycle->overdue_of(0));
}

TEST_CASE("idle nodes are counted from when they are idle until they are used") {
  Places places(1);  // one idle node
  places.wanted = 2;
  CHECK(places.act(10) == "start 1 at 30; ");
  places.load(1, false, 0, 10 * kSecond);
  CHECK(places.lifecycle->totals(15 * kSecond).idle_node_ns == std::vector{10 * kSecond});
  places.wanted = 1;
  CHECK(places.act(20) == "end 1; ");
  CHECK(places.lifecycle->totals(50 * kSecond).idle_node_ns == std::vector{40 * kSecond});
}

TEST_CASE("the youngest replica goes first, and only when it is empty") {
  Places places(2);
  places.wanted = 3;
  CHECK(places.act(10) == "start 2 at 30; ");
  places.load(2, false, 0, 10 * kSecond);
  static_cast<void>(places.act(20));
  places.load(2, true, 3, 30 * kSecond);
  places.wanted = 2;
  CHECK(places.act(30) == "close 2; ");
  CHECK_FALSE(places.lifecycle->takes(2));
  places.load(2, true, 1, 35 * kSecond);
  CHECK(places.orders().empty());
  places.load(2, true, 0, 45 * kSecond);
  CHECK(places.orders() == "end 2; ");
  CHECK_FALSE(places.lifecycle->exists(2));
  const LifecycleTotals totals = places.lifecycle->totals(50 * kSecond);
  CHECK(totals.exists_ns == std::vector<TimeNs>{50 * kSecond, 50 * kSecond, 35 * kSecond, 0});
  CHECK(totals.most_at_once == std::vector<std::int64_t>{3});
}

TEST_CASE("a replica that starts is the first to go, and its node is ready for the next one") {
  Places places(1);
  places.wanted = 2;
  CHECK(places.act(10) == "start 1 at 30; ");
  places.load(1, false, 0, 10 * kSecond);
  places.wanted = 1;
  CHECK(places.act(20) == "end 1; ");
  places.wanted = 2;
  CHECK(places.act(30) == "start 1 at 50; ");
}

TEST_CASE("a place in a lost zone is used last, and not before the zone is back") {
  Places places(1);
  places.lifecycle->on_place_lost(1, 500 * kSecond);
  places.wanted = 4;
  CHECK(places.act(10) == "start 2 at 30; start 3 at 130; start 1 at 500; ");
}

TEST_CASE("replicas restart one after the other") {
  Places places(3, {{.at_ns = 4 * kSecond, .down_ns = 7 * kSecond}});
  places.load(1, true, 2, 0);
  CHECK(places.act(4) == "close 0; ");
  places.load(0, true, 0, 4 * kSecond);
  CHECK(places.orders() == "start 0 at 11; ");
  places.load(0, false, 0, 4 * kSecond);
  places.wanted = 3;
  CHECK(places.act(10).empty());
  CHECK(places.seen.replicas == 3);
  places.load(0, true, 0, 11 * kSecond);
  CHECK(places.orders() == "close 1; ");
  places.load(1, true, 2, 12 * kSecond);
  CHECK(places.orders().empty());
  places.load(1, false, 0, 13 * kSecond);  // it crashes while it drains, and comes back
  CHECK(places.orders().empty());
  places.load(1, true, 0, 15 * kSecond);
  CHECK(places.orders() == "close 2; ");
  CHECK(places.lifecycle->totals(16 * kSecond).restarts == 2);
}

TEST_CASE("a restart of two at once leaves out who is down") {
  Places places(4, {{.at_ns = kSecond, .down_ns = {}, .at_once = 2}});
  places.load(1, false, 0, 0);
  CHECK(places.act(1) == "close 0; close 2; ");
  places.load(0, true, 0, kSecond);
  CHECK(places.orders() == "start 0 at 21; ");
}

TEST_CASE("who takes requests in place of one that does not is of its group") {
  Places places(2);
  CHECK(places.lifecycle->nearest_that_takes(3) == 0U);
  places.wanted = 1;
  CHECK(places.act(10) == "close 1; ");
  CHECK(places.lifecycle->nearest_that_takes(1) == 0U);
}

}  // namespace headroom::fleet_lifecycle_test
