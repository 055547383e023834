// A fleet that is driven by a clock from outside, and learns of each request when it comes, ends
// like one that knew all of them from the beginning; wherever its steps are looked at on the way.

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "scheduler/routing/round_robin.hpp"
#include "sim/serving/fleet.hpp"
#include "tests/laws/scenario_runs.hpp"
#include "tests/support/production.hpp"

namespace headroom::laws::live_fleet_law_test {
namespace {

// Knows what has been put in.
class Inbox final : public WorkloadSource {
 public:
  [[nodiscard]] TimeNs next_time() override {
    return next_ < arrivals.size() ? arrivals[next_].time_ns : kNever;
  }
  [[nodiscard]] Arrival take() override { return arrivals[next_++]; }
  void on_done(std::uint64_t, Outcome, TimeNs) override {}

  std::vector<Arrival> arrivals;

 private:
  std::size_t next_ = 0;
};

// Drives a fleet of this scenario's engines from instant to instant.
class Driver {
 public:
  Driver(const oracle::Scenario& scenario, int replicas, TimeNs late_ns) : late_ns_(late_ns) {
    std::vector<ReplicaParts> parts;
    for (int i = 0; i < replicas; ++i) parts.push_back(test::make_parts(scenario));
    fleet_.emplace(FleetOptions{.follows_requests = true}, std::move(parts),
                   std::make_unique<RoundRobinRouter>(), inbox_, sink_);
    fleet_->begin();
    for (const Arrival& arrival : scenario.arrivals) {
      at_[arrival.time_ns].push_back({arrival, false});
      if (arrival.deadline_ns != kNever) at_[arrival.deadline_ns].push_back({arrival, true});
    }
  }

  Results run() {
    while (!at_.empty()) {
      const auto first = at_.begin();
      look_until(first->first - 1 + late_ns_);
      for (Event& event : first->second) {
        if (event.leaves) continue;
        Arrival arrival = event.arrival;
        arrival.time_ns += late_ns_;
        arrival.deadline_ns = kNever;
        inbox_.arrivals.push_back(arrival);
      }
      for (Event& event : first->second) {
        if (event.leaves) fleet_->leave(leaver(event.arrival), first->first + late_ns_);
      }
      fleet_->note_arrivals();
      at_.erase(first);
    }
    TimeNs now_ns = fleet_->next_ns();
    for (int steps = 0; now_ns != kNever && steps < 20'000; ++steps) {
      look(now_ns);
      now_ns = fleet_->next_ns();
    }
    fleet_->end(std::max<TimeNs>(0, reached_ns_));
    return std::move(sink_.results);
  }

  [[nodiscard]] bool tokens_grow() const { return tokens_grow_; }

 private:
  struct Event {
    Arrival arrival;
    bool leaves = false;
  };

  [[nodiscard]] std::uint64_t leaver(const Arrival& arrival) const {
    const auto same = std::ranges::find(inbox_.arrivals, arrival.session, &Arrival::session);
    return static_cast<std::uint64_t>(same - inbox_.arrivals.begin());
  }
  // At the end of each step on the way.
  void look_until(TimeNs until_ns) {
    for (TimeNs now_ns = fleet_->next_ns(); now_ns <= until_ns; now_ns = fleet_->next_ns()) {
      look(now_ns);
    }
    if (until_ns > reached_ns_) look(until_ns);
  }
  void look(TimeNs now_ns) {
    fleet_->advance(now_ns);
    reached_ns_ = now_ns;
    for (std::uint64_t i = 0; i < inbox_.arrivals.size(); ++i) {
      const auto out = fleet_->tokens_out(i);
      if (!out) continue;
      tokens_grow_ = tokens_grow_ && *out >= seen_[i];
      seen_[i] = *out;
    }
  }

  TimeNs late_ns_;
  Inbox inbox_;
  ResultSink sink_;
  std::optional<Fleet> fleet_;
  std::map<TimeNs, std::vector<Event>> at_;
  std::map<std::uint64_t, std::int32_t> seen_;
  TimeNs reached_ns_ = -1;
  bool tokens_grow_ = true;
};

// Sessions tell requests apart; nobody leaves before the nanosecond after the arrival.
oracle::Scenario prepared(oracle::Scenario scenario, std::uint64_t seed) {
  for (std::size_t i = 0; i < scenario.arrivals.size(); ++i) {
    Arrival& arrival = scenario.arrivals[i];
    arrival.session = i;
    if ((seed + i) % 5 == 0) {
      arrival.deadline_ns =
          arrival.time_ns + 1 + static_cast<TimeNs>((seed * 7919 + i * 104'729) % 50'000'000);
    }
  }
  return scenario;
}

Results known_from_the_beginning(const oracle::Scenario& scenario, int replicas) {
  test::ListSource source(scenario.arrivals);
  ResultSink sink;
  run_engines(std::vector<oracle::Scenario>(static_cast<std::size_t>(replicas), scenario),
              production, std::make_unique<RoundRobinRouter>(), source, sink);
  return std::move(sink.results);
}

// A run that stopped for want of progress is told by another rule.
bool ended(const Results& results) {
  return std::ranges::none_of(
      results, [](const oracle::RequestResult& r) { return r.outcome == Outcome::unfinished; });
}

Verdict live_is_the_same(const oracle::Scenario& given, std::uint64_t seed, TimeNs late_ns) {
  const oracle::Scenario scenario = prepared(given, seed);
  const int replicas = 1 + static_cast<int>(seed % 3);
  const Results expected = known_from_the_beginning(scenario, replicas);
  if (!ended(expected)) return Verdict::does_not_apply;
  Driver driver(scenario, replicas, late_ns);
  const Results found = driver.run();
  return verdict(found == expected && driver.tokens_grow());
}

TEST_CASE("requests that become known when they come are served as if they had been known",
          "[live]") {
  CHECK(holds_for_all(
      [](const oracle::Scenario& s, std::uint64_t seed) { return live_is_the_same(s, seed, 0); }));
}

TEST_CASE("requests that come a nanosecond later are not", "[live]") {
  CHECK_FALSE(holds_for_all(
      [](const oracle::Scenario& s, std::uint64_t seed) { return live_is_the_same(s, seed, 1); }));
}

}  // namespace
}  // namespace headroom::laws::live_fleet_law_test
