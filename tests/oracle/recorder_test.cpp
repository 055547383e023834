// VERIFICATION V7b on everything that is recorded: records, gaps, cost terms, KV integrals,
// timeline and events are the same bits whether the replica jumps, single-steps, or its jumps are
// cut at random.

#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "scheduler/routing/round_robin.hpp"
#include "sim/metrics/recorder.hpp"
#include "sim/metrics/run_digest.hpp"
#include "tests/support/production.hpp"
#include "tests/support/scenario_generator.hpp"

namespace headroom::recorder_test {
namespace {

std::string digest_of(const oracle::Scenario& scenario, const test::ProductionOptions& options,
                      TimeNs until_ns) {
  std::vector<ReplicaParts> parts;
  parts.push_back(test::make_parts(scenario, options));
  test::ListSource source(scenario.arrivals);
  RecorderOptions recorder_options;
  // Several samples in some steps, several steps between others; long runs double the interval.
  recorder_options.timeline.interval_ns = 1 + scenario.arrivals.back().time_ns / 100;
  recorder_options.timeline.max_samples = 400;
  Recorder recorder(recorder_options);
  Fleet fleet({}, std::move(parts), std::make_unique<RoundRobinRouter>(), source, recorder);
  RunLimits limits;
  limits.until_ns = until_ns;
  limits.no_progress_events = 100'000;
  fleet.run(limits);
  recorder.finish(fleet.totals().end_ns);
  return run_digest(recorder);
}

// In every second one clients give up.
oracle::Scenario scenario_of(std::uint64_t seed) {
  oracle::Scenario scenario = oracle::random_scenario(seed);
  return seed % 2 == 0 ? oracle::with_deadlines(std::move(scenario), seed) : scenario;
}

TEST_CASE("everything recorded is the same for jumps, single steps and random cuts") {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    const oracle::Scenario scenario = scenario_of(seed);
    CAPTURE(seed);
    const std::string jumps = digest_of(scenario, {}, kNever);
    REQUIRE(digest_of(scenario, {.single_step = true}, kNever) == jumps);
    REQUIRE(digest_of(scenario, {.cut_seed = seed}, kNever) == jumps);
  }
}

TEST_CASE("a run that is stopped in the middle is the same for jumps and single steps") {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    const oracle::Scenario scenario = scenario_of(seed);
    const TimeNs until = scenario.arrivals.back().time_ns / 2 + static_cast<TimeNs>(seed % 50'000);
    CAPTURE(seed, until);
    REQUIRE(digest_of(scenario, {.single_step = true}, until) == digest_of(scenario, {}, until));
  }
}

TEST_CASE("the digest notices one request that arrives a nanosecond later") {
  oracle::Scenario scenario = oracle::random_scenario(3);
  const std::string before = digest_of(scenario, {}, kNever);
  scenario.arrivals.back().time_ns += 1;
  CHECK(digest_of(scenario, {}, kNever) != before);
}

}  // namespace
}  // namespace headroom::recorder_test
