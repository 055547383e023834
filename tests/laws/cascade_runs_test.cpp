// Random fleets whose routes send requests on to others, with clients that give up and come again,
// crashes, and replicas that come and go: nobody is lost or counted twice, and the results do not
// depend on how steps are cut.

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/fleet/fault_schedule.hpp"
#include "sim/kernel/random.hpp"
#include "sim/metrics/recorder.hpp"
#include "sim/metrics/run_digest.hpp"
#include "sim/metrics/summary.hpp"
#include "tests/laws/scenario_runs.hpp"
#include "tests/support/cascade.hpp"
#include "tests/support/production.hpp"
#include "tests/support/random_scaling.hpp"
#include "tests/support/scenario_generator.hpp"
#include "workloads/retrying_source.hpp"

namespace headroom::laws::cascade_runs_test {
namespace {

using oracle::Scenario;

constexpr std::uint32_t kOfRoute = 2;
constexpr std::uint32_t kEngines = 3 * kOfRoute;

struct CascadeCase {
  std::string router = "least_outstanding";
  bool stages = true;
  bool scales = false;
  bool faults = false;
  bool resend = false;
  bool retries = false;
  std::vector<test::TestRoute> routes;
};

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : stream_(seed, "cascade") {}
  std::uint64_t below(std::uint64_t n) { return stream_.bits() % n; }
  bool percent(std::uint64_t share) { return below(100) < share; }

 private:
  RandomStream stream_;
};

// The first two routes get arrivals; the first one sends requests to the second or to the third,
// and the second one perhaps to the third.
CascadeCase any_cascade(const Scenario& s, std::uint64_t seed) {
  Dice dice(seed);
  const auto rows = router_rows();
  CascadeCase one;
  one.router = std::string(rows[dice.below(rows.size())].name);
  one.scales = dice.percent(40);
  one.faults = dice.percent(50);
  one.resend = dice.percent(50);
  one.retries = dice.percent(40);
  constexpr double kFactors[] = {1, 1, 0.6, 1.4};
  for (std::size_t i = 0; i < 3; ++i) {
    test::TestRoute route{.replicas = kOfRoute, .share = i < 2 ? 2 - static_cast<int>(i) : 0};
    const double input = kFactors[dice.below(4)];
    const double output = kFactors[dice.below(4)];
    route.stage.tokens = test::factors(input, output);
    if (i == 0 || (i == 1 && dice.percent(60))) {
      Escalation escalation;
      escalation.to = i == 1 || dice.percent(40) ? 2 : 1;
      escalation.share = dice.percent(30) ? 1.0 : 0.5;
      escalation.with_answer = dice.percent(50);
      const auto longest = static_cast<std::uint64_t>(test::arrivals_ns(s) / 20 + 1);
      escalation.judge_ns = dice.percent(50) ? 0 : static_cast<TimeNs>(dice.below(longest));
      route.stage.escalation = escalation;
    }
    one.routes.push_back(std::move(route));
  }
  return one;
}

// With clients that give up, and API servers.
Scenario furnished(Scenario s, std::uint64_t seed) {
  if (seed % 3 != 0) s = oracle::with_deadlines(std::move(s), seed);
  const bool streams = s.policy != oracle::Policy::static_batch;
  if (seed % 5 == 0 && streams) s = oracle::with_api_server(std::move(s), seed);
  return s;
}

std::unique_ptr<FleetLifecycle> coming_and_going(const Scenario& s, std::uint64_t seed) {
  std::vector<LifecycleGroup> groups;
  for (std::uint32_t i = 0; i < 3; ++i) {
    LifecycleGroup group;
    group.first = i * kOfRoute;
    group.places = kOfRoute;
    group.initial = 1 + static_cast<std::uint32_t>((seed + i) % kOfRoute);
    group.start_ns = std::max<TimeNs>(1, test::arrivals_ns(s) / 60);
    group.metric = static_cast<ScalingMetric>((seed + i) % 4);
    group.interval_ns = std::max<TimeNs>(1, test::arrivals_ns(s) / 30);
    group.policy = std::make_unique<test::RandomScaling>(kOfRoute, seed + i);
    groups.push_back(std::move(group));
  }
  return std::make_unique<FleetLifecycle>(std::move(groups), std::vector<RollingRestart>{});
}

std::unique_ptr<FaultSource> crashes_of(const Scenario& s, std::uint64_t seed) {
  FaultOptions options;
  options.seed = seed;
  options.mtbf_s = 0.4 * static_cast<double>(test::arrivals_ns(s)) / 1e9;
  options.down_ns.assign(kEngines, std::max<TimeNs>(1, test::arrivals_ns(s) / 50));
  return std::make_unique<FaultSchedule>(options);
}

struct CascadeOutcome {
  StopReason stop = StopReason::drained;
  FleetTotals totals;
  std::string digest;
  std::vector<RequestRecord> records;
  RetryTotals retries;
};

CascadeOutcome run_cascade(const Scenario& s, const CascadeCase& one, std::uint64_t seed,
                           const test::ProductionOptions& way = {}) {
  std::vector<ReplicaParts> parts;
  for (std::uint32_t i = 0; i < kEngines; ++i) {
    Scenario engine = s;
    engine.cost.step *= 1 + i / kOfRoute;  // later routes are slower
    parts.push_back(test::make_parts(engine, way));
    parts.back().options.queue_survives = seed % 2 == 0;
  }
  std::vector<Arrival> arrivals = s.arrivals;
  std::vector<std::vector<PrefixSegment>> prefixes;
  for (std::size_t i = 0; i < arrivals.size(); ++i) prefixes.push_back(oracle::pieces_of(s, i));
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    arrivals[i].session = i % 5;
    arrivals[i].prefix = prefixes[i];
  }
  FleetParts fleet_parts = test::cascade_parts(one.routes, one.router, seed, one.stages);
  if (one.faults) fleet_parts.faults = crashes_of(s, seed);
  if (one.scales) fleet_parts.lifecycle = coming_and_going(s, seed);
  FleetOptions options;
  options.full_check_interval = 1;
  options.resends_lost = one.resend && s.api_server.processes == 0;

  RetryOptions again{.max_attempts = one.retries ? 3 : 1,
                     .delay_ns = test::arrivals_ns(s) / 40,
                     .jitter = 0.5,
                     .on_rejected = true};
  RetryingSource source(std::make_unique<test::ListSource>(std::move(arrivals)), again, seed);
  Recorder recorder({.timeline = {.interval_ns = std::max<TimeNs>(1, test::arrivals_ns(s) / 50)}});
  Fleet fleet(options, std::move(parts), std::move(fleet_parts), source, recorder);
  RunLimits limits;
  limits.until_ns = 20 * test::arrivals_ns(s);  // crashes may go on for ever
  limits.no_progress_events = 20'000;
  const StopReason stop = fleet.run(limits);
  recorder.finish(fleet.totals().end_ns);  // one record each, Little's law, the cost identity
  const auto records = recorder.records();
  return {stop,
          fleet.totals(),
          run_digest(recorder),
          {records.begin(), records.end()},
          source.totals()};
}

// What the laws are about.
struct Seen {
  std::int64_t escalated = 0;
  std::int64_t twice = 0;  // from the second route to the third
  std::int64_t cancelled = 0;
  std::int64_t rejected = 0;
  std::int64_t lost = 0;
  std::int64_t resent = 0;
  std::int64_t again = 0;
  std::int64_t unfinished = 0;
};

bool adds_up(const CascadeOutcome& run, Seen& seen) {
  RequestCounts counts;
  TokenCount tokens = 0;
  TokenCount kept = 0;
  for (const RequestRecord& record : run.records) {
    counts.add(record.outcome);
    tokens += record.output_tokens;
    if (record.outcome == Outcome::finished) kept += record.output_tokens;
  }
  ReplicaCounts served;
  for (const ReplicaCounts& one : run.totals.replicas) served += one;
  RouteCounts all;
  for (const RouteCounts& one : run.totals.routes) {
    std::int64_t left = one.escalated;
    for (const std::int64_t count : one.left) left += count;
    if (left != one.arrived) return false;
    all.arrived += one.arrived;
    all.from_routes += one.from_routes;
    all.escalated += one.escalated;
    all.kept_tokens += one.kept_tokens;
    all.wasted_tokens += one.wasted_tokens;
    for (std::size_t i = 0; i < kOutcomeCount; ++i) all.left[i] += one.left[i];
  }
  std::int64_t of_replicas = 0;
  for (const std::int64_t count : served.requests) of_replicas += count;
  seen.escalated += all.escalated;
  seen.twice += run.totals.routes[1].escalated;
  seen.cancelled += counts.cancelled;
  seen.rejected += counts.rejected;
  seen.lost += counts.lost_to_fault;
  seen.resent += served.handed_back;
  seen.again += run.retries.sent_again();
  seen.unfinished += counts.unfinished;
  return all.from_routes == all.escalated && all.arrived - all.from_routes == counts.arrived &&
         all.of(Outcome::finished) == counts.finished &&
         all.of(Outcome::rejected) == counts.rejected &&
         all.of(Outcome::cancelled) == counts.cancelled &&
         all.of(Outcome::lost_to_fault) == counts.lost_to_fault &&
         all.of(Outcome::lost_to_oom) == counts.lost_to_oom &&
         all.of(Outcome::unfinished) == counts.unfinished && all.kept_tokens == kept &&
         served.output_tokens == tokens + all.wasted_tokens &&
         of_replicas + run.totals.turned_away == counts.arrived + all.escalated;
}

bool tells_one_story(const RequestRecord& r) {
  const bool begun = r.first_scheduled_ns < 0 || r.queued_ns <= r.first_scheduled_ns;
  const bool finished = r.outcome != Outcome::finished ||
                        (r.queued_ns >= 0 && r.first_scheduled_ns >= 0 &&
                         r.first_token_ns >= r.first_scheduled_ns && r.output_tokens >= 1);
  return begun && finished && (r.queued_ns < 0 || r.arrival_ns <= r.queued_ns);
}

TEST_CASE("a cascade loses no count of requests or tokens", "[cascade]") {
  Seen seen;
  REQUIRE(holds_for_all(
      [&](const Scenario& plain, std::uint64_t seed) {
        const Scenario s = furnished(plain, seed);
        const CascadeOutcome run = run_cascade(s, any_cascade(s, seed), seed);
        return verdict(adds_up(run, seen) && std::ranges::all_of(run.records, tells_one_story));
      },
      600));
  // The law is about something.
  CHECK(seen.escalated > 2000);
  CHECK(seen.twice > 300);
  CHECK(seen.cancelled > 300);
  CHECK(seen.rejected > 100);
  CHECK(seen.lost > 100);
  CHECK(seen.resent > 100);
  CHECK(seen.again > 100);
  CHECK(seen.unfinished > 10);
}

TEST_CASE("a run of a cascade may be cut anywhere, and is the same twice", "[cascade]") {
  REQUIRE(holds_for_all(
      [](const Scenario& plain, std::uint64_t seed) {
        const Scenario s = furnished(plain, seed);
        const CascadeCase one = any_cascade(s, seed);
        const CascadeOutcome jumps = run_cascade(s, one, seed);
        const CascadeOutcome twice = run_cascade(s, one, seed);
        const CascadeOutcome single = run_cascade(s, one, seed, {.single_step = true});
        const CascadeOutcome cut = run_cascade(s, one, seed, {.cut_seed = seed + 1});
        return verdict(jumps.digest == twice.digest && jumps.digest == single.digest &&
                       jumps.digest == cut.digest && jumps.totals.routes == twice.totals.routes &&
                       jumps.totals.routes == single.totals.routes &&
                       jumps.totals.routes == cut.totals.routes);
      },
      300));
}

// Sub-nanosecond remainders, orders within a nanosecond and prefix caches included.
bool differs_in_first_tokens_only(const Scenario& plain, double share, std::uint64_t seed) {
  Scenario s = furnished(plain, seed);
  for (Arrival& arrival : s.arrivals) arrival.first_token_deadline_ns = kNever;
  CascadeCase one = any_cascade(s, seed);
  one.retries = false;  // who comes again at the instant at which somebody leaves comes first
  for (test::TestRoute& route : one.routes) {
    route.stage.tokens = {};
    if (!route.stage.escalation) continue;
    route.stage.escalation->share = share;
    route.stage.escalation->judge_ns = 0;
  }
  const CascadeOutcome judged = run_cascade(s, one, seed);
  one.stages = false;
  const CascadeOutcome routed = run_cascade(s, one, seed);
  const auto alike = [](const RequestRecord& a, const RequestRecord& b) {
    return a.outcome == b.outcome && a.queued_ns == b.queued_ns && a.finish_ns == b.finish_ns &&
           a.first_scheduled_ns == b.first_scheduled_ns && a.replica == b.replica &&
           a.output_tokens == b.output_tokens && a.preemptions == b.preemptions;
  };
  return std::ranges::equal(judged.records, routed.records, alike);
}

TEST_CASE("a cascade that sends nobody on is routes alone, but for the first tokens", "[cascade]") {
  REQUIRE(holds_for_all(
      [](const Scenario& s, std::uint64_t seed) {
        return verdict(differs_in_first_tokens_only(s, 1e-15, seed));
      },
      300));
  REQUIRE_FALSE(holds_for_all(
      [](const Scenario& s, std::uint64_t seed) {
        return verdict(differs_in_first_tokens_only(s, 0.3, seed));
      },
      50));
}

}  // namespace
}  // namespace headroom::laws::cascade_runs_test
