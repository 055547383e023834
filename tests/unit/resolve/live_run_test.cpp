// A run whose requests come one by one gives the bytes of a run that knew them from the beginning.

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "hardware/catalog.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/metrics/null_sink.hpp"
#include "sim/resolve/live_run.hpp"
#include "sim/resolve/run.hpp"
#include "sim/resolve/workload_factory.hpp"
#include "sim/scenario/scenario_file.hpp"
#include "workloads/listed_arrivals.hpp"

namespace headroom::live_run_test {
namespace {

// What a scenario's workload sends, with memory for its prompts' pieces.
struct Sent {
  std::vector<Arrival> arrivals;
  std::vector<std::vector<PrefixSegment>> prefixes;
};

Sent sent_by(const Scenario& scenario, std::size_t most) {
  Workload workload = make_workload(scenario);
  Sent sent;
  TimeNs first_ns = 0;
  while (sent.arrivals.size() < most && workload.source->next_time() != kNever) {
    Arrival arrival = workload.source->take();
    workload.source->on_done(sent.arrivals.size(), Outcome::finished, arrival.time_ns);
    if (sent.arrivals.empty()) first_ns = arrival.time_ns;
    arrival.time_ns -= first_ns;
    arrival.class_id = 0;
    arrival.deadline_ns = arrival.first_token_deadline_ns = kNever;
    // Every seventh client leaves after 300 ms.
    if (sent.arrivals.size() % 7 == 0) arrival.deadline_ns = arrival.time_ns + 300'000'000;
    sent.prefixes.emplace_back(arrival.prefix.begin(), arrival.prefix.end());
    sent.arrivals.push_back(arrival);
  }
  for (std::size_t i = 0; i < sent.arrivals.size(); ++i) sent.arrivals[i].prefix = sent.prefixes[i];
  return sent;
}

Workload listed(const Sent& sent) {
  Workload workload;
  workload.source = std::make_unique<ListedArrivals>(sent.arrivals);
  workload.facts.classes = {""};
  workload.account = [](WorkloadFacts&) {};
  return workload;
}

// Looks at every step on the way.
void advance(LiveRun& live, TimeNs until_ns) {
  for (TimeNs t = live.next_ns(); t <= until_ns; t = live.next_ns()) live.advance(t);
  live.advance(until_ns);
}

RunResult one_by_one(const Scenario& scenario, const Catalog& catalog, const Sent& sent) {
  struct Moment {
    TimeNs time_ns;
    bool leaves;
    std::size_t index;
  };
  std::vector<Moment> moments;
  for (std::size_t i = 0; i < sent.arrivals.size(); ++i) {
    moments.push_back({sent.arrivals[i].time_ns, false, i});
    if (sent.arrivals[i].deadline_ns != kNever) {
      moments.push_back({sent.arrivals[i].deadline_ns, true, i});
    }
  }
  std::ranges::stable_sort(moments, {}, &Moment::time_ns);
  NullSink none;
  LiveRun live(scenario, catalog, none);
  TimeNs reached_ns = -1;
  for (const Moment& moment : moments) {
    if (moment.time_ns > reached_ns + 1) advance(live, reached_ns = moment.time_ns - 1);
    if (moment.leaves) {
      live.leave(moment.index, moment.time_ns);
      continue;
    }
    Arrival arrival = sent.arrivals[moment.index];
    arrival.deadline_ns = kNever;
    arrival.prefix = {};
    CHECK(live.arrive(arrival, sent.prefixes[moment.index]) == moment.index);
  }
  TimeNs t = live.next_ns();
  for (; t != kNever; t = live.next_ns()) live.advance(reached_ns = t);
  return live.finish(reached_ns);
}

void check_same(const std::string& name, const std::vector<std::string>& set,
                std::size_t requests) {
  INFO(name);
  ScenarioFlags flags;
  flags.set = set;
  const Scenario scenario = load_scenario(name, flags);
  const Catalog catalog = Catalog::embedded();
  const Sent sent = sent_by(scenario, requests);
  REQUIRE(sent.arrivals.size() == requests);
  const RunResult expected = run(scenario, catalog, listed(sent));
  const RunResult found = one_by_one(scenario, catalog, sent);
  REQUIRE(expected.started);
  CHECK(expected.summary.requests.cancelled > 0);
  CHECK(found.digest == expected.digest);
  CHECK(found.totals.end_ns == expected.totals.end_ns);
  CHECK(found.stop == expected.stop);
  const auto records = [](const RunResult& result) { return result.recorder->records(); };
  REQUIRE(records(found).size() == records(expected).size());
  for (std::size_t i = 0; i < requests; ++i) {
    CHECK(records(found)[i].first_token_ns == records(expected)[i].first_token_ns);
    CHECK(records(found)[i].finish_ns == records(expected)[i].finish_ns);
  }
}

TEST_CASE("requests that come one by one are served as in a run of their trace", "[live]") {
  check_same("demo", {}, 400);
  check_same("chat-sessions", {}, 300);
  check_same("llama-8b-4090-thrash", {}, 200);
  check_same("kv-offload", {}, 100);
}

TEST_CASE("so are those of a fleet", "[live]") {
  check_same("fleet-chat", {}, 500);
  check_same("fleet-disaggregated", {}, 200);
  check_same("fleet-autoscaling", {}, 500);
}

TEST_CASE("what has to know of clients beforehand is refused", "[live]") {
  NullSink none;
  const Catalog catalog = Catalog::embedded();
  CHECK_THROWS_WITH(LiveRun(load_scenario("api-server-saturated", {}), catalog, none),
                    Catch::Contains("/engine/api_server_count"));
  CHECK_THROWS_WITH(LiveRun(load_scenario("fleet-cascade", {}), catalog, none),
                    Catch::Contains("/fleet/routes"));
}

TEST_CASE("a live run that does not start says why", "[live]") {
  NullSink none;
  const Catalog catalog = Catalog::embedded();
  LiveRun live(load_scenario("llama-70b-does-not-fit", {}), catalog, none);
  REQUIRE(live.setup().budget.failure);
  CHECK_FALSE(live.finish(0).started);
}

}  // namespace
}  // namespace headroom::live_run_test
