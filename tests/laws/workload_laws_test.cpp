// VERIFICATION V4: observers, sources, replays and routers that must make no difference.

#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/routing/round_robin.hpp"
#include "sim/metrics/fan_out.hpp"
#include "sim/metrics/null_sink.hpp"
#include "sim/metrics/recorder.hpp"
#include "sim/metrics/run_digest.hpp"
#include "tests/laws/scenario_runs.hpp"
#include "tests/support/production.hpp"
#include "workloads/synthetic_source.hpp"
#include "workloads/trace_source.hpp"
#include "workloads/traces/detect.hpp"

namespace headroom::laws::workload_laws_test {
namespace {

using oracle::Scenario;

// --- one more sink ------------------------------------------------------------------------------

// Wrong: a sink that the price of a step depends on.
class MeddlingSink final : public MetricsSink {
 public:
  void on_steps(const StepRun&) override { ++calls; }
  void on_request(const RequestRecord&) override {}
  void on_event(const EngineEvent&) override {}
  void on_idle(std::uint16_t, TickSum, const ReplicaState&) override {}
  Ticks calls = 0;
};
class MeddledCost final : public StepCost {
 public:
  MeddledCost(std::unique_ptr<StepCost> inner, const MeddlingSink& sink)
      : inner_(std::move(inner)), sink_(sink) {}
  void price(const StepShape& shape, StepPrice& price) const override {
    inner_->price(shape, price);
    price.base += sink_.calls;
    price.base_terms[CostTerm::host] += sink_.calls;
  }

 private:
  std::unique_ptr<StepCost> inner_;
  const MeddlingSink& sink_;
};

// Digest of everything a recorder holds, with `extra` sinks before and after it.
std::string digest_beside(const Scenario& s, const Model& model, std::vector<MetricsSink*> extra) {
  Recorder recorder({.timeline = {.interval_ns = 50, .max_samples = 500}});
  std::vector<MetricsSink*> sinks = extra;
  sinks.push_back(&recorder);
  sinks.insert(sinks.end(), extra.begin(), extra.end());
  FanOut all(sinks);
  test::ListSource source(s.arrivals);
  recorder.finish(run_engines({s}, model, std::make_unique<RoundRobinRouter>(), source, all));
  return run_digest(recorder);
}

TEST_CASE("law: one more sink changes no byte of what the first one records") {
  REQUIRE(holds_for_all([](const Scenario& s, std::uint64_t) {
    NullSink null;
    ResultSink results;
    return verdict(digest_beside(s, production, {}) ==
                   digest_beside(s, production, {&null, &results}));
  }));
}

TEST_CASE("the law of sinks refuses a sink that the run can see") {
  REQUIRE_FALSE(holds_for_all([](const Scenario& s, std::uint64_t) {
    MeddlingSink sink;
    const Model meddled = [&](const Scenario& scenario) {
      ReplicaParts parts = production(scenario);
      parts.cost = std::make_unique<MeddledCost>(std::move(parts.cost), sink);
      return parts;
    };
    const std::string alone = digest_beside(s, meddled, {});
    return verdict(alone == digest_beside(s, meddled, {&sink}));
  }));
}

// --- eager and lazy workloads -------------------------------------------------------------------

// Traffic for the scenario's engine: a request every two steps or so.
SyntheticOptions traffic_for(const Scenario& s) {
  SyntheticOptions options;
  const double step_s = static_cast<double>(s.cost.step) / kTicksPerNs / kNsPerSecond;
  options.arrivals.rate_per_s = .5 / step_s;
  options.prompt.law = LengthLaw::uniform;
  options.prompt.max = 60;
  options.output.law = LengthLaw::lognormal;
  options.output.median = 8;
  options.output.max = 40;
  options.num_requests = 30;
  return options;
}

// Wrong: draws that depend on who has left.
class DistractedSource final : public WorkloadSource {
 public:
  explicit DistractedSource(SyntheticSource inner) : inner_(std::move(inner)) {}
  [[nodiscard]] TimeNs next_time() override { return inner_.next_time(); }
  [[nodiscard]] Arrival take() override {
    Arrival arrival = inner_.take();
    arrival.output_tokens += left_ % 2;
    return arrival;
  }
  void on_done(std::uint64_t, Outcome, TimeNs) override { ++left_; }

 private:
  SyntheticSource inner_;
  std::int32_t left_ = 0;
};

Results run_source(const Scenario& engine, WorkloadSource& source) {
  ResultSink sink;
  run_engines({engine}, production, std::make_unique<RoundRobinRouter>(), source, sink);
  return std::move(sink.results);
}

template <typename Source>
bool eager_equals_lazy() {
  return holds_for_all([](const Scenario& s, std::uint64_t seed) {
    Source lazy(SyntheticSource(traffic_for(s), seed));
    Source drawn(SyntheticSource(traffic_for(s), seed));
    std::vector<Arrival> arrivals;
    while (drawn.next_time() != kNever) arrivals.push_back(drawn.take());
    test::ListSource eager(arrivals);
    return verdict(run_source(s, lazy) == run_source(s, eager));
  });
}

TEST_CASE("law: requests drawn on demand are those drawn in advance") {
  REQUIRE(eager_equals_lazy<SyntheticSource>());
}

TEST_CASE("the law of lazy workloads refuses a source that looks at completions") {
  REQUIRE_FALSE(eager_equals_lazy<DistractedSource>());
}

// --- replay of the exported arrivals ------------------------------------------------------------

// Days are those of January 2024; the trace's own date does not matter.
std::string timestamp(TimeNs t) {
  const TimeNs seconds = t / kNsPerSecond;
  return fmt::format("2024-01-{:02} {:02}:{:02}:{:02}.{:09}", 1 + seconds / 86'400,
                     seconds / 3600 % 24, seconds / 60 % 60, seconds % 60, t % kNsPerSecond);
}

// The records' arrivals as a trace file, rounded down to whole `precision_ns`, and read again.
Trace exported(const std::vector<RequestRecord>& records, TimeNs precision_ns) {
  const std::filesystem::path path = std::filesystem::temp_directory_path() /
                                     fmt::format("headroom_laws_replay_{}.csv", ::getpid());
  std::ofstream file(path);
  file << "TIMESTAMP,ContextTokens,GeneratedTokens\n";
  for (const RequestRecord& r : records) {
    const TimeNs time_ns = r.arrival_ns / precision_ns * precision_ns;
    file << timestamp(time_ns) << ',' << r.prompt_tokens << ',' << r.output_tokens << '\n';
  }
  file.close();
  Trace trace = read_trace(path.string(), {});
  std::filesystem::remove(path);
  return trace;
}

// A trace has no max_tokens: neither have the requests. It starts at its first row: so does the
// replay.
Verdict replay_repeats(Scenario s, TimeNs precision_ns) {
  for (Arrival& a : s.arrivals) a.max_tokens = 0;
  Recorder recorder({.timeline = {.interval_ns = 0}});
  ResultSink sink;
  FanOut sinks({&recorder, &sink});
  test::ListSource source(s.arrivals);
  run_engines({s}, production, std::make_unique<RoundRobinRouter>(), source, sinks);
  if (!all_finished(sink.results)) return Verdict::does_not_apply;
  const std::vector<RequestRecord> records(recorder.records().begin(), recorder.records().end());
  auto trace = std::make_shared<const Trace>(exported(records, precision_ns));
  TraceSource replay(trace, {});
  const TimeNs start_ns = s.arrivals.front().time_ns;
  return verdict(shifted(run_source(s, replay), start_ns) == sink.results);
}

TEST_CASE("law: a run equals the replay of its exported arrivals") {
  REQUIRE(
      holds_for_all([](const Scenario& s, std::uint64_t) { return replay_repeats(s, 1); }, 300));
}

TEST_CASE("the law of replays refuses an export that rounds to 100 ns") {
  REQUIRE_FALSE(
      holds_for_all([](const Scenario& s, std::uint64_t) { return replay_repeats(s, 100); }, 300));
}

// --- two replicas -------------------------------------------------------------------------------

// Wrong for this law: looks at the replicas.
class LeastLoadedRouter final : public Router {
 public:
  [[nodiscard]] std::uint32_t route(const Arrival&, std::span<const ReplicaLoad> loads) override {
    return loads[0].running + loads[0].waiting <= loads[1].running + loads[1].waiting ? 0 : 1;
  }
};

// Requests 0, 2, 4 ... and 1, 3, 5 ... alone, each on an engine of its own.
template <typename RouterType>
Verdict two_replicas_are_two_runs(const Scenario& s) {
  std::vector<Scenario> alone(2, s);
  for (Scenario& half : alone) half.arrivals.clear();
  for (std::size_t i = 0; i < s.arrivals.size(); ++i) {
    alone[i % 2].arrivals.push_back(s.arrivals[i]);
  }
  const std::vector<Results> halves{run_scenario(alone[0]), run_scenario(alone[1])};
  for (const Results& half : halves) {
    // A stuck replica ends the run for both.
    for (const auto& r : half) {
      if (r.outcome == Outcome::unfinished) return Verdict::does_not_apply;
    }
  }
  test::ListSource source(s.arrivals);
  ResultSink sink;
  run_engines({s, s}, production, std::make_unique<RouterType>(), source, sink);
  for (std::size_t i = 0; i < sink.results.size(); ++i) {
    if (sink.results[i] != halves[i % 2][i / 2]) return Verdict::fails;
  }
  return Verdict::holds;
}

TEST_CASE("law: two replicas served in turn are two independent runs") {
  REQUIRE(holds_for_all([](const Scenario& s, std::uint64_t) {
    return two_replicas_are_two_runs<RoundRobinRouter>(s);
  }));
}

TEST_CASE("the law of two replicas refuses a router that looks at their load") {
  REQUIRE_FALSE(holds_for_all([](const Scenario& s, std::uint64_t) {
    return two_replicas_are_two_runs<LeastLoadedRouter>(s);
  }));
}

}  // namespace
}  // namespace headroom::laws::workload_laws_test
