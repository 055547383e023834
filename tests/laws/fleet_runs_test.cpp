// Random fleets: the same results however their steps are cut, nobody lost in crashes, and what a
// router without eyes does is what its replicas do alone.

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/fleet/fault_schedule.hpp"
#include "scheduler/routing/routers.hpp"
#include "sim/metrics/fan_out.hpp"
#include "sim/metrics/recorder.hpp"
#include "sim/metrics/run_digest.hpp"
#include "sim/metrics/summary.hpp"
#include "sim/serving/fleet.hpp"
#include "tests/laws/scenario_runs.hpp"
#include "tests/support/production.hpp"

namespace headroom::laws::fleet_runs_test {
namespace {

using oracle::Scenario;

struct FleetCase {
  std::string router = "least_outstanding";
  TimeNs delay_ns = 0;
  double mtbf_s = 0;  // in units of a tenth of the arrivals' time
  bool resend = false;
  bool slow = false;
};

struct Outcomes {
  Results results;
  std::vector<std::uint16_t> replicas;  // by request
  FleetTotals totals;
  std::string digest;
  RequestCounts counts;
  TokenCount tokens_out = 0;  // recorded
};

class ReplicaSink final : public MetricsSink {
 public:
  void on_steps(const StepRun&) override {}
  void on_request(const RequestRecord& r) override {
    replicas.resize(std::max(replicas.size(), static_cast<std::size_t>(r.index) + 1));
    replicas[r.index] = r.replica;
  }
  void on_event(const EngineEvent&) override {}
  void on_idle(std::uint16_t, TickSum, const ReplicaState&) override {}
  std::vector<std::uint16_t> replicas;
};

TimeNs span_of(const Scenario& s) {
  return s.arrivals.empty() ? 1 : std::max<TimeNs>(10, s.arrivals.back().time_ns);
}

FaultOptions faults_of(const Scenario& s, const FleetCase& one, std::uint64_t seed) {
  const TimeNs span = span_of(s);
  FaultOptions options;
  options.seed = seed;
  options.mtbf_s = one.mtbf_s * static_cast<double>(span) / 1e9;
  options.down_ns.assign(3, std::max<TimeNs>(1, span / 50));
  if (one.slow) {
    options.scheduled = {{.time_ns = span / 5, .kind = FaultKind::slow, .replica = 1},
                         {.time_ns = span / 2, .kind = FaultKind::slow_end, .replica = 1}};
  }
  return options;
}

Outcomes run_fleet(const Scenario& s, const FleetCase& one, std::uint64_t seed,
                   const test::ProductionOptions& way) {
  std::vector<ReplicaParts> parts;
  for (int i = 0; i < 3; ++i) {
    parts.push_back(test::make_parts(s, way));
    oracle::AffineCost slow = s.cost;
    slow.step *= 3;
    slow.decode_row *= 3;
    parts.back().slow_costs.push_back(std::make_unique<test::AffineStepCost>(slow));
    parts.back().options.queue_survives = seed % 2 == 0;
  }
  std::vector<Arrival> arrivals = s.arrivals;
  std::vector<std::vector<PrefixSegment>> prefixes;
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    prefixes.push_back(oracle::pieces_of(s, i));
    arrivals[i].session = i % 5;
  }
  for (std::size_t i = 0; i < arrivals.size(); ++i) arrivals[i].prefix = prefixes[i];
  RouterOptions router;
  router.seed = seed;
  router.replicas = 3;
  router.prefix.balance_abs = 2;
  router.prefix.cache_threshold = 0.1;
  router.update_delay_ns = one.delay_ns;
  FleetParts fleet_parts{router_row(one.router).make(router)};
  fleet_parts.faults = std::make_unique<FaultSchedule>(faults_of(s, one, seed));
  FleetOptions options;
  options.full_check_interval = 1;
  options.router_delay_ns = one.delay_ns;
  options.resends_lost = one.resend && s.api_server.processes == 0;

  test::ListSource source(std::move(arrivals));
  ResultSink results;
  ReplicaSink replicas;
  Recorder recorder({.timeline = {.interval_ns = std::max<TimeNs>(1, span_of(s) / 50)}});
  FanOut sinks({&results, &replicas, &recorder});
  Fleet fleet(options, std::move(parts), std::move(fleet_parts), source, sinks);
  RunLimits limits;
  if (one.mtbf_s > 0) limits.until_ns = 20 * span_of(s);  // crashes may go on for ever
  limits.no_progress_events = 20'000;
  fleet.run(limits);
  recorder.finish(fleet.totals().end_ns);  // Little's law, the cost identity
  Outcomes outcomes{std::move(results.results), std::move(replicas.replicas), fleet.totals(),
                    run_digest(recorder), count_requests(recorder.records())};
  for (const RequestRecord& r : recorder.records()) outcomes.tokens_out += r.output_tokens;
  return outcomes;
}

bool same(const Outcomes& a, const Outcomes& b) {
  return a.results == b.results && a.replicas == b.replicas && a.digest == b.digest &&
         a.totals.end_ns == b.totals.end_ns;
}

Verdict cut_anywhere(const Scenario& s, const FleetCase& one, std::uint64_t seed) {
  const Outcomes jumps = run_fleet(s, one, seed, {});
  if (!same(jumps, run_fleet(s, one, seed, {.single_step = true}))) return Verdict::fails;
  return verdict(same(jumps, run_fleet(s, one, seed, {.cut_seed = seed + 1})));
}

TEST_CASE("a fleet's run may be cut anywhere, whatever its router looks at") {
  for (const RouterRow& row : router_rows()) {
    INFO(row.name);
    REQUIRE(holds_for_all(
        [&](const Scenario& s, std::uint64_t seed) {
          const TimeNs delay = seed % 3 == 0 ? span_of(s) / 40 : 0;
          return cut_anywhere(s, {.router = std::string(row.name), .delay_ns = delay}, seed);
        },
        120));
  }
}

TEST_CASE("a fleet's run with crashes and slow replicas may be cut anywhere") {
  REQUIRE(holds_for_all(
      [](const Scenario& s, std::uint64_t seed) {
        const FleetCase one{.mtbf_s = 0.3, .resend = seed % 4 < 2, .slow = seed % 3 == 0};
        return cut_anywhere(s, one, seed);
      },
      600));
}

// Every request has one record, every token that came out is a request's or was discarded, and who
// was sent again is not lost.
TEST_CASE("crashes lose no count of requests or tokens") {
  std::int64_t crashes = 0;
  std::int64_t lost = 0;
  std::int64_t resent = 0;
  REQUIRE(holds_for_all(
      [&](const Scenario& s, std::uint64_t seed) {
        const FleetCase one{
            .router = seed % 2 == 0 ? "random" : "least_kv", .mtbf_s = 0.1, .resend = seed % 4 < 2};
        const Outcomes run = run_fleet(s, one, seed, {});
        ReplicaCounts sum;
        for (const ReplicaCounts& counts : run.totals.replicas) sum += counts;
        crashes += sum.crashes;
        lost += run.counts.lost_to_fault;
        resent += sum.handed_back;
        if (!one.resend && sum.handed_back > 0) return Verdict::fails;
        if (run.totals.end_ns < 20 * span_of(s) &&
            run.counts.arrived != static_cast<std::int64_t>(s.arrivals.size()))
          return Verdict::fails;
        std::int64_t of_replicas = 0;
        for (const std::int64_t count : sum.requests) of_replicas += count;
        return verdict(of_replicas == run.counts.arrived &&
                       sum.of(Outcome::finished) == run.counts.finished &&
                       sum.of(Outcome::lost_to_fault) == run.counts.lost_to_fault &&
                       sum.output_tokens == run.tokens_out);
      },
      600));
  // The law is about something.
  CHECK(crashes > 1000);
  CHECK(lost > 100);
  CHECK(resent > 100);
}

TEST_CASE("three replicas in turn are three runs alone") {
  REQUIRE(holds_for_all(
      [](const Scenario& s, std::uint64_t seed) {
        std::vector<Results> alone;
        for (std::size_t r = 0; r < 3; ++r) {
          Scenario part = s;
          part.arrivals.clear();
          part.prefixes.clear();
          for (std::size_t i = r; i < s.arrivals.size(); i += 3) {
            part.arrivals.push_back(s.arrivals[i]);
          }
          alone.push_back(run_scenario(part));
          for (const auto& result : alone.back()) {
            if (result.outcome == Outcome::unfinished) return Verdict::does_not_apply;
          }
        }
        Scenario all = s;
        all.prefixes.clear();
        const Outcomes fleet = run_fleet(all, {.router = "round_robin"}, seed, {});
        for (std::size_t i = 0; i < fleet.results.size(); ++i) {
          if (fleet.results[i] != alone[i % 3][i / 3]) return Verdict::fails;
        }
        return Verdict::holds;
      },
      300));
}

TEST_CASE("the law of three replicas refuses a router that looks") {
  const auto law = [](const Scenario& s, std::uint64_t seed) {
    const Outcomes turns = run_fleet(s, {.router = "round_robin"}, seed, {});
    return verdict(same(turns, run_fleet(s, {.router = "least_outstanding"}, seed, {})));
  };
  REQUIRE_FALSE(holds_for_all(law, 50));
}

}  // namespace
}  // namespace headroom::laws::fleet_runs_test
