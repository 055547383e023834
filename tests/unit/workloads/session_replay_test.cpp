#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "scheduler/routing/round_robin.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/serving/fleet.hpp"
#include "tests/support/production.hpp"
#include "tests/unit/workloads/made_trace.hpp"
#include "workloads/closed_turns.hpp"
#include "workloads/trace_source.hpp"
#include "workloads/trace_transform.hpp"

namespace headroom::session_replay_test {

namespace {

class Records final : public MetricsSink {
 public:
  void on_steps(const StepRun&) override {}
  void on_request(const RequestRecord& record) override {
    if (record.index >= by_index.size()) by_index.resize(record.index + 1);
    by_index[record.index] = record;
  }
  void on_event(const EngineEvent&) override {}
  void on_idle(std::uint16_t, TickSum, const ReplicaState&) override {}

  std::vector<RequestRecord> by_index;
};

constexpr TimeNs kToolNs = 50;
constexpr std::int32_t kTurns = 4;

// Agents of four calls of the model, with a tool between two of them. The prompt of a call says
// which one it is: session + 1 tokens, and 60 more in each later call.
Trace agents(std::int32_t sessions) {
  std::vector<made_trace::Row> rows;
  for (std::int32_t session = 0; session < sessions; ++session) {
    for (std::int32_t turn = 0; turn < kTurns; ++turn) {
      rows.push_back({.prompt_tokens = 60 * turn + session + 1,
                      .output_tokens = 3 + turn,
                      .session = static_cast<std::uint64_t>(session),
                      .after_previous_ns = turn == 0 ? -1 : kToolNs});
    }
  }
  Trace trace = made_trace::of(rows);
  trace.clock = TraceClock::none;
  return trace;
}

}  // namespace

TEST_CASE("agents call the model again when their tool has run", "[workloads]") {
  constexpr std::int32_t kSessions = 50;
  Trace trace = agents(kSessions);
  TransformOptions options{.session_prefix = SessionPrefix::history};
  options.arrivals = {.process = ArrivalProcess::poisson, .rate_per_s = 1e7};
  CHECK(transform(trace, options, 1).arrivals.instants == kSessions);
  TraceSource source(std::make_shared<const Trace>(std::move(trace)), {});

  oracle::Scenario scenario;
  scenario.max_model_len = 300;
  scenario.kv_blocks = 200;
  scenario.prefix_caching = true;
  std::vector<ReplicaParts> parts;
  parts.push_back(test::make_parts(scenario));
  parts.push_back(test::make_parts(scenario));
  Records sink;
  Fleet fleet({}, std::move(parts), std::make_unique<RoundRobinRouter>(), source, sink);
  CHECK(fleet.run({}) == StopReason::drained);

  CHECK(fleet.totals().arrived == kSessions * kTurns);
  CHECK(source.rows_left() == 0);
  CHECK(source.turns_dropped() == 0);
  std::vector<RequestRecord> turns(kSessions * kTurns);
  for (const RequestRecord& record : sink.by_index) {
    CHECK(record.outcome == Outcome::finished);
    const std::int32_t turn = (record.prompt_tokens - 1) / 60;
    const std::int32_t session = (record.prompt_tokens - 1) % 60;
    turns.at(static_cast<std::size_t>(session) * kTurns + static_cast<std::size_t>(turn)) = record;
  }
  for (std::size_t i = 0; i < turns.size(); ++i) {
    if (i % kTurns == 0) continue;
    CHECK(turns[i].arrival_ns == turns[i - 1].finish_ns + kToolNs);
  }
}

TEST_CASE("an agent whose call does not fit makes no further one", "[workloads]") {
  Trace trace = agents(3);
  TransformOptions options;
  options.arrivals = {.process = ArrivalProcess::constant, .rate_per_s = 1e6};
  static_cast<void>(transform(trace, options, 1));
  TraceSource source(std::make_shared<const Trace>(std::move(trace)), {});
  oracle::Scenario scenario;
  scenario.max_model_len = 100;  // the third call has 121 tokens
  scenario.kv_blocks = 200;
  std::vector<ReplicaParts> parts;
  parts.push_back(test::make_parts(scenario));
  Records sink;
  Fleet fleet({}, std::move(parts), std::make_unique<RoundRobinRouter>(), source, sink);
  CHECK(fleet.run({}) == StopReason::drained);
  CHECK(fleet.totals().arrived == 9);
  CHECK(source.turns_dropped() == 3);
  CHECK(source.rows_left() == 0);
}

TEST_CASE("a turn beyond the latest time of a trace is refused by its row", "[workloads]") {
  Trace trace = made_trace::of(
      {{.time_ns = kLatestTraceNs, .session = 1},
       {.time_ns = kLatestTraceNs, .session = 1, .after_previous_ns = kLatestTraceNs}});
  trace.name = "late.csv";
  ClosedTurns turns(trace, 2);
  CHECK(turns.take().time_ns == kLatestTraceNs);
  CHECK_THROWS_MATCHES(
      turns.on_answer(0, kLatestTraceNs + 1), ConfigError,
      Catch::Message("trace late.csv: after_previous_ns: row 2 in order of time comes at 1.8e+19 "
                     "ns; allowed: up to 9000000000000000000 ns (285 years)"));
}

}  // namespace headroom::session_replay_test
