// Random fleets whose replicas come, go, restart and crash at every turn: nobody is lost or counted
// twice, and the results do not depend on how steps are cut.

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/fleet/autoscaler.hpp"
#include "scheduler/fleet/fault_schedule.hpp"
#include "scheduler/routing/route_split.hpp"
#include "scheduler/routing/routers.hpp"
#include "sim/metrics/recorder.hpp"
#include "sim/metrics/run_digest.hpp"
#include "sim/metrics/summary.hpp"
#include "sim/serving/fleet.hpp"
#include "tests/laws/scenario_runs.hpp"
#include "tests/support/production.hpp"
#include "tests/support/random_scaling.hpp"

namespace headroom::laws::fleet_scaling_runs_test {
namespace {

using oracle::Scenario;

constexpr std::uint32_t kPlaces = 4;

struct ScaledCase {
  std::string router = "least_outstanding";
  bool scales = true;  // at random; else from 4 to 4
  bool faults = true;
  bool restarts = true;
  bool resend = false;
  bool routes = false;  // two of two places each
  TimeNs delay_ns = 0;
};

TimeNs interval_of(const Scenario& s) { return std::max<TimeNs>(1, test::arrivals_ns(s) / 30); }

std::unique_ptr<FleetLifecycle> lifecycle_of(const Scenario& s, const ScaledCase& one,
                                             std::uint64_t seed) {
  const TimeNs span = test::arrivals_ns(s);
  LifecycleGroup group;
  group.places = kPlaces;
  group.initial = one.scales ? 1 + static_cast<std::uint32_t>(seed % kPlaces) : kPlaces;
  group.start_ns = std::max<TimeNs>(1, span / 60);
  group.provisioning_ns = span / 40;
  group.nodes_ready = 1;
  group.metric = static_cast<ScalingMetric>(seed % 6);
  group.percentile = 50 + static_cast<double>(seed % 50);
  group.overdue_ns = span / 50;
  group.interval_ns = interval_of(s);
  const bool by_latency =
      group.metric == ScalingMetric::ttft || group.metric == ScalingMetric::tpot;
  if (one.scales && by_latency) {
    group.policy = std::make_unique<HorizontalAutoscaler>(
        AutoscalerOptions{.min_replicas = 1,
                          .max_replicas = kPlaces,
                          .initial = group.initial,
                          .target = static_cast<double>(span) / 50 / 1e6,  // ms
                          .down_window_ns = span / 10});
  } else if (one.scales) {
    group.policy = std::make_unique<test::RandomScaling>(kPlaces, seed);
  } else {
    group.policy = std::make_unique<HorizontalAutoscaler>(AutoscalerOptions{
        .min_replicas = kPlaces, .max_replicas = kPlaces, .initial = kPlaces, .target = 0.1});
  }
  std::vector<LifecycleGroup> groups;
  groups.push_back(std::move(group));
  std::vector<RollingRestart> restarts;
  if (one.restarts) {
    restarts.push_back({.at_ns = span / 5, .down_ns = std::max<TimeNs>(1, span / 50)});
    restarts.push_back({.at_ns = span / 4, .down_ns = {}, .at_once = 2});
  }
  return std::make_unique<FleetLifecycle>(std::move(groups), restarts);
}

FaultOptions losses_of(const Scenario& s, std::uint64_t seed) {
  const TimeNs span = test::arrivals_ns(s);
  const TimeNs down = std::max<TimeNs>(1, span / 50);
  FaultOptions options;
  options.seed = seed;
  options.mtbf_s = 0.3 * static_cast<double>(span) / 1e9;
  options.down_ns.assign(kPlaces, down);
  for (std::uint32_t i = 0; i < kPlaces; i += 2) {
    Fault loss;
    loss.time_ns = span / 3;
    loss.kind = FaultKind::zone_loss;
    loss.replica = i;
    loss.down_ns = 3 * down;
    options.scheduled.push_back(loss);
  }
  return options;
}

std::unique_ptr<Router> split_of(const ScaledCase& one, RouterOptions router) {
  std::vector<RouteOptions> routes(2);
  router.replicas = kPlaces / 2;
  for (std::uint32_t i = 0; i < kPlaces; ++i) routes[i % 2].replicas.push_back(i);
  for (RouteOptions& route : routes) {
    route.share = 1;
    route.router = router_row(one.router).make(router);
  }
  return std::make_unique<RouteSplit>(std::move(routes), kPlaces, router.seed);
}

struct ScaledRun {
  StopReason stop = StopReason::drained;
  FleetTotals totals;
  std::string digest;
  RequestCounts counts;
  TokenCount tokens_out = 0;
  std::int64_t at_the_door = 0;  // records of no replica
};

ScaledRun run_scaled(const Scenario& s, const ScaledCase& one, std::uint64_t seed,
                     const test::ProductionOptions& way, bool with_lifecycle = true) {
  std::vector<ReplicaParts> parts;
  for (std::uint32_t i = 0; i < kPlaces; ++i) {
    parts.push_back(test::make_parts(s, way));
    parts.back().options.queue_survives = seed % 2 == 0;
  }
  std::vector<Arrival> arrivals = s.arrivals;
  std::vector<std::vector<PrefixSegment>> prefixes;
  for (std::size_t i = 0; i < arrivals.size(); ++i) prefixes.push_back(oracle::pieces_of(s, i));
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    arrivals[i].session = i % 5;
    arrivals[i].prefix = prefixes[i];
  }
  RouterOptions router;
  router.seed = seed;
  router.replicas = kPlaces;
  router.update_delay_ns = one.delay_ns;
  router.slo.packs = seed % 2 == 0;
  router.slo.targets = {{test::arrivals_ns(s) / 50, test::arrivals_ns(s) / 500}};
  FleetParts fleet_parts{one.routes ? split_of(one, router) : router_row(one.router).make(router)};
  if (one.faults) fleet_parts.faults = std::make_unique<FaultSchedule>(losses_of(s, seed));
  if (with_lifecycle) fleet_parts.lifecycle = lifecycle_of(s, one, seed);
  FleetOptions options;
  options.full_check_interval = 1;
  options.router_delay_ns = one.delay_ns;
  options.resends_lost = one.resend && s.api_server.processes == 0;

  test::ListSource source(std::move(arrivals));
  Recorder recorder({.timeline = {.interval_ns = std::max<TimeNs>(1, test::arrivals_ns(s) / 50)}});
  Fleet fleet(options, std::move(parts), std::move(fleet_parts), source, recorder);
  RunLimits limits;
  limits.until_ns = 20 * test::arrivals_ns(s);  // crashes may go on for ever
  limits.no_progress_events = 20'000;
  const StopReason stop = fleet.run(limits);
  recorder.finish(fleet.totals().end_ns);  // Little's law, the cost identity
  ScaledRun run{stop, fleet.totals(), run_digest(recorder), count_requests(recorder.records())};
  for (const RequestRecord& r : recorder.records()) {
    run.tokens_out += r.output_tokens;
    run.at_the_door += r.replica == kNoReplica ? 1 : 0;
  }
  return run;
}

ScaledCase any_case(const Scenario& s, std::uint64_t seed) {
  const auto rows = router_rows();
  return {.router = std::string(rows[seed % rows.size()].name),
          .scales = true,
          .faults = seed % 3 != 0,
          .restarts = seed % 5 != 0,
          .resend = seed % 4 < 2,
          .routes = seed % 8 < 3,
          .delay_ns = seed % 7 == 0 ? test::arrivals_ns(s) / 40 : 0};
}

TEST_CASE("replicas that come and go lose no count of requests, tokens or time") {
  std::int64_t crashes = 0;
  std::int64_t refused = 0;
  std::int64_t restarts = 0;
  std::size_t decisions = 0;
  REQUIRE(holds_for_all(
      [&](const Scenario& s, std::uint64_t seed) {
        const ScaledRun run = run_scaled(s, any_case(s, seed), seed, {});
        ReplicaCounts sum;
        for (const ReplicaCounts& counts : run.totals.replicas) sum += counts;
        crashes += sum.crashes;
        refused += run.totals.without_replica;
        restarts += run.totals.lifecycle->restarts;
        decisions += run.totals.lifecycle->decisions.size();
        std::int64_t of_replicas = 0;
        for (const std::int64_t count : sum.requests) of_replicas += count;
        for (const TimeNs exists : run.totals.lifecycle->exists_ns) {
          if (exists < 0 || exists > run.totals.end_ns) return Verdict::fails;
        }
        if (run.totals.end_ns < 20 * test::arrivals_ns(s) &&
            run.counts.arrived != static_cast<std::int64_t>(s.arrivals.size())) {
          return Verdict::fails;
        }
        return verdict(run.at_the_door == run.totals.turned_away &&
                       run.totals.turned_away == run.totals.without_replica &&
                       of_replicas + run.totals.turned_away == run.counts.arrived &&
                       sum.of(Outcome::finished) == run.counts.finished &&
                       sum.output_tokens == run.tokens_out);
      },
      600));
  // The law is about something.
  CHECK(crashes > 500);
  CHECK(refused > 100);
  CHECK(restarts > 200);
  CHECK(decisions > 2000);
}

TEST_CASE("a run of replicas that come and go may be cut anywhere") {
  REQUIRE(holds_for_all(
      [](const Scenario& s, std::uint64_t seed) {
        const ScaledCase one = any_case(s, seed);
        const ScaledRun jumps = run_scaled(s, one, seed, {});
        const ScaledRun single = run_scaled(s, one, seed, {.single_step = true});
        const ScaledRun cut = run_scaled(s, one, seed, {.cut_seed = seed + 1});
        return verdict(jumps.digest == single.digest && jumps.digest == cut.digest &&
                       jumps.totals.lifecycle->exists_ns == cut.totals.lifecycle->exists_ns &&
                       jumps.totals.lifecycle->decisions == cut.totals.lifecycle->decisions &&
                       jumps.totals.lifecycle->decisions == single.totals.lifecycle->decisions);
      },
      300));
}

TEST_CASE("a fleet that follows its latencies decides by them, the same way again") {
  std::size_t decisions = 0;
  REQUIRE(holds_for_all(
      [&](const Scenario& s, std::uint64_t seed) {
        const std::uint64_t by_latency = seed / 2 * 6 + 4 + seed % 2;
        const ScaledCase one = any_case(s, by_latency);
        const ScaledRun run = run_scaled(s, one, by_latency, {});
        const ScaledRun again = run_scaled(s, one, by_latency, {});
        decisions += run.totals.lifecycle->decisions.size();
        for (const ScaleDecision& decision : run.totals.lifecycle->decisions) {
          if (decision.metric < 0) return Verdict::fails;
        }
        return verdict(run.digest == again.digest &&
                       run.totals.lifecycle->decisions == again.totals.lifecycle->decisions);
      },
      300));
  CHECK(decisions > 300);
}

TEST_CASE("an autoscaler that may not change anything changes nothing") {
  REQUIRE(holds_for_all(
      [](const Scenario& s, std::uint64_t seed) {
        ScaledCase one = any_case(s, seed);
        one.scales = one.restarts = false;
        one.faults = true;  // both runs then end when nobody is left
        const ScaledRun scaled = run_scaled(s, one, seed, {});
        const ScaledRun still = run_scaled(s, one, seed, {}, false);
        // Decisions are events, and a run without progress ends after so many.
        if (still.stop == StopReason::no_progress) return Verdict::does_not_apply;
        // A decision in the ns in which the last request leaves keeps its replica's plan from being
        // made in one go with the step end; the run is over before it.
        if (still.totals.end_ns % interval_of(s) == 0) return Verdict::does_not_apply;
        return verdict(scaled.digest == still.digest &&
                       scaled.totals.end_ns == still.totals.end_ns);
      },
      300));
}

TEST_CASE("the law of an autoscaler that may not refuses one that may") {
  const auto law = [](const Scenario& s, std::uint64_t seed) {
    const ScaledCase one{.restarts = false};
    return verdict(run_scaled(s, one, seed, {}).digest ==
                   run_scaled(s, one, seed, {}, false).digest);
  };
  REQUIRE_FALSE(holds_for_all(law, 50));
}

}  // namespace
}  // namespace headroom::laws::fleet_scaling_runs_test
