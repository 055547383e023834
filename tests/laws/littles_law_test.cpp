// VERIFICATION V0.8, Little's law on the sample path: in a run that starts and ends empty, the
// integral of the number in system is the sum of the sojourns, exactly, in ns.

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "scheduler/routing/round_robin.hpp"
#include "sim/metrics/fan_out.hpp"
#include "sim/metrics/recorder.hpp"
#include "tests/laws/law_support.hpp"
#include "tests/laws/scenario_runs.hpp"
#include "tests/support/production.hpp"
#include "tests/support/record_sums.hpp"

namespace headroom::laws::littles_law_test {
namespace {

using oracle::Scenario;

// The integral from events alone; the sum of sojourns comes from the records. `late_ns`: wrong,
// every departure is seen so much later.
class Presence final : public MetricsSink {
 public:
  explicit Presence(TimeNs late_ns = 0) : late_ns_(late_ns) {}
  void on_steps(const StepRun&) override {}
  void on_request(const RequestRecord& record) override {
    if (record.queued_ns < 0 || record.finish_ns < 0) return;
    sojourns += record.finish_ns - record.queued_ns;
    step(record.finish_ns + late_ns_, -1);
  }
  void on_event(const EngineEvent& event) override {
    if (event.kind == EngineEventKind::queued) step(event.time_ns, 1);
  }
  void on_idle(std::uint16_t, TickSum, const ReplicaState&) override {}

  // Once the run has ended empty.
  [[nodiscard]] bool balances() const { return present_ == 0 && integral_ == sojourns; }

  Int128 sojourns = 0;

 private:
  void step(TimeNs t, std::int64_t change) {
    integral_ += static_cast<Int128>(present_) * (t - last_ns_);
    last_ns_ = t;
    present_ += change;
  }

  TimeNs late_ns_;
  TimeNs last_ns_ = 0;
  std::int64_t present_ = 0;
  Int128 integral_ = 0;
};

Verdict events_balance(const Scenario& s, TimeNs late_ns) {
  test::ListSource source(s.arrivals);
  Presence presence(late_ns);
  ResultSink results;
  FanOut sinks({&presence, &results});
  run_engines({s}, production, std::make_unique<RoundRobinRouter>(), source, sinks);
  if (!all_finished(results.results)) return Verdict::does_not_apply;
  return verdict(presence.balances());
}

TEST_CASE("law: the integral of the number in system is the sum of the sojourns") {
  REQUIRE(holds_for_all([](const Scenario& s, std::uint64_t) { return events_balance(s, 0); }));
}

TEST_CASE("Little's law refuses departures that are seen a nanosecond late") {
  REQUIRE_FALSE(
      holds_for_all([](const Scenario& s, std::uint64_t) { return events_balance(s, 1); }));
}

// A sample in every nanosecond adds up to the integral: running and waiting of the timeline against
// the records. Rows that respond at the end of their batch leave the running ones before they
// respond, so such batches are left out; and long runs, which have too many nanoseconds.
Verdict samples_balance(const Scenario& s, std::int64_t unseen) {
  if (s.responds_at_end) return Verdict::does_not_apply;
  constexpr std::int64_t kMost = 60'000;
  TimeNs last_ns = 0;
  for (const auto& r : run_scenario(s)) last_ns = std::max(last_ns, r.finish_ns);
  if (last_ns > kMost) return Verdict::does_not_apply;
  test::ListSource source(s.arrivals);
  Recorder recorder(
      {.timeline = {.interval_ns = 1, .max_samples = static_cast<std::size_t>(2 * kMost)}});
  ResultSink results;
  FanOut sinks({&recorder, &results});
  recorder.finish(
      run_engines({s}, production, std::make_unique<RoundRobinRouter>(), source, sinks));
  if (!all_finished(results.results)) return Verdict::does_not_apply;
  if (recorder.timeline().interval_ns() != 1) return Verdict::fails;
  Int128 integral = 0;
  for (const TimelineRow& row : recorder.timeline().rows(0)) {
    integral += std::max<std::int64_t>(0, row.running + row.waiting - unseen);
  }
  return verdict(integral == sojourn_sum_ns(recorder.records(), recorder.end_ns()));
}

TEST_CASE("law: samples of every nanosecond add up to the sum of the sojourns") {
  REQUIRE(
      holds_for_all([](const Scenario& s, std::uint64_t) { return samples_balance(s, 0); }, 200));
}

TEST_CASE("Little's law refuses samples that miss one request") {
  REQUIRE_FALSE(
      holds_for_all([](const Scenario& s, std::uint64_t) { return samples_balance(s, 1); }, 200));
}

// 100,000 requests at 80 % load, over 20 minutes: exact all the same.
TEST_CASE("law: Little's law is exact for a long run") {
  Experiment e;
  e.rate_per_ms = .08;
  e.requests = 100'000;
  e.max_num_seqs = 1;
  e.draw_prompt = exponential(10 * kNsPerMsReal);
  e.cost.chunk_token = kTicksPerNs;
  Presence right;
  const LawRun run = run_law(e, 1, &right);
  REQUIRE(right.balances());
  Presence late(1);
  (void)run_law(e, 1, &late);
  REQUIRE_FALSE(late.balances());
  // The records give the same integral, also in two parts that cut requests in two.
  const TimeNs end_ns = run.records.back().finish_ns;
  CHECK(population_integral_ns(run.records, 0, run.to_ns()) +
            population_integral_ns(run.records, run.to_ns(), end_ns) ==
        right.sojourns);
}

}  // namespace
}  // namespace headroom::laws::littles_law_test
