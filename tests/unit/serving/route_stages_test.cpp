// Routes that count other tokens or send requests on, by hand: who goes where, as what, and what
// its client sees.

#include "sim/serving/route_stages.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "scheduler/fleet/fault_schedule.hpp"
#include "tests/support/cascade.hpp"
#include "tests/support/production.hpp"
#include "workloads/transforms/token_factors.hpp"

namespace headroom::route_stages_test {
namespace {

class KeptRecords final : public MetricsSink {
 public:
  void on_steps(const StepRun&) override {}
  void on_request(const RequestRecord& record) override { requests.push_back(record); }
  void on_event(const EngineEvent& event) override { kinds.push_back(event.kind); }
  void on_idle(std::uint16_t, TickSum, const ReplicaState&) override {}
  std::vector<RequestRecord> requests;
  std::vector<EngineEventKind> kinds;
};

// Stages without a fleet: a test says when answers are complete.
struct Stages {
  explicit Stages(std::vector<test::TestRoute> routes, std::uint64_t seed = 1)
      : parts(test::cascade_parts(std::move(routes), "round_robin", seed)),
        stages(std::move(*parts.stages), 8, sink) {}

  // Its answer of `tokens` is complete at `now_ns`. Where it goes on, if it does.
  const Arrival* answered(std::uint64_t index, TimeNs now_ns, const RequestRecord& record) {
    stages.sink().on_request(record);
    if (stages.has_left(index, now_ns)) return nullptr;
    return stages.take_verdict().next;
  }

  KeptRecords sink;
  FleetParts parts;
  RouteStages stages;
};

test::TestRoute to_route(std::size_t to, double share, std::int64_t arrivals = 1) {
  return {.replicas = 1,
          .share = arrivals,
          .stage = {.replicas = {}, .escalation = Escalation{.to = to, .share = share}}};
}

RequestRecord finished(std::uint64_t index, const Arrival& arrival, TimeNs finish_ns) {
  RequestRecord record;
  record.index = index;
  record.arrival_ns = arrival.time_ns;
  record.queued_ns = record.first_scheduled_ns = arrival.time_ns;
  record.first_token_ns = finish_ns - 1;
  record.finish_ns = finish_ns;
  record.prompt_tokens = arrival.prompt_tokens;
  record.output_tokens = arrival.output_tokens;
  record.outcome = Outcome::finished;
  return record;
}

Arrival request(std::int32_t prompt, std::int32_t output, std::int32_t max_tokens = 0) {
  return {.time_ns = 0, .prompt_tokens = prompt, .output_tokens = output, .max_tokens = max_tokens};
}

}  // namespace

TEST_CASE("the share of the answers that go on is that of the route, whoever draws the route") {
  Stages s({to_route(2, 0.3), to_route(2, 0.3), {}});
  constexpr std::uint64_t kRequests = 200'000;
  for (std::uint64_t i = 0; i < kRequests; ++i) {
    const Arrival here = s.stages.begin(request(10, 5), i);
    static_cast<void>(s.answered(i, 10, finished(i, here, 10)));
    s.stages.forget(i);
  }
  const std::vector<RouteCounts>& counts = s.stages.counts();
  for (std::size_t route = 0; route < 2; ++route) {
    const auto n = static_cast<double>(counts[route].arrived);
    CHECK(std::abs(n - 100'000) < 4 * 224);  // a deviation of 224
    // Binomial, apart from the draw of the route: a deviation of 145.
    CHECK(std::abs(static_cast<double>(counts[route].escalated) - 0.3 * n) < 4 * 145);
    CHECK(counts[route].of(Outcome::finished) + counts[route].escalated == counts[route].arrived);
  }
  CHECK(counts[0].arrived + counts[1].arrived == kRequests);
  CHECK(counts[2].from_routes == counts[0].escalated + counts[1].escalated);
}

TEST_CASE("a larger share sends the same requests on, and others") {
  Stages few({to_route(1, 0.2), {}});
  Stages many({to_route(1, 0.6), {}});
  for (std::uint64_t i = 0; i < 5000; ++i) {
    bool goes[2] = {false, false};
    for (Stages* s : {&few, &many}) {
      const Arrival here = s->stages.begin(request(10, 5), i);
      goes[s == &many ? 1 : 0] = s->answered(i, 10, finished(i, here, 10)) != nullptr;
    }
    REQUIRE(goes[0] <= goes[1]);
  }
  CHECK(few.stages.counts()[0].escalated > 900);
}

TEST_CASE("a chain of routes leaves one record, of the whole story") {
  Stages s({to_route(1, 1), to_route(2, 1, 0), {}});
  Arrival arrival = request(10, 5);
  arrival.output_segment = 4;
  const Arrival first = s.stages.begin(arrival, 7);
  RequestRecord record = finished(7, first, 20);
  record.queued_ns = 2;
  record.first_scheduled_ns = 3;
  record.preemptions = 1;
  const Arrival* next = s.answered(7, 20, record);
  REQUIRE(next != nullptr);
  s.stages.sink().on_event({.kind = EngineEventKind::queued, .request = 7});
  CHECK(s.sink.kinds == std::vector{EngineEventKind::escalated});
  record = finished(7, *next, 30);
  record.queued_ns = 20;
  record.preemptions = 2;
  next = s.answered(7, 30, record);
  REQUIRE(next != nullptr);
  CHECK(next->output_segment == 4);  // this answer is kept
  record = finished(7, *next, 45);
  record.queued_ns = record.first_scheduled_ns = 30;
  record.first_token_ns = 33;
  record.preemptions = 4;
  record.replica = 2;
  CHECK(s.answered(7, 45, record) == nullptr);
  REQUIRE(s.sink.requests.size() == 1);
  const RequestRecord& seen = s.sink.requests.front();
  CHECK(seen.arrival_ns == 0);
  CHECK(seen.queued_ns == 2);
  CHECK(seen.first_scheduled_ns == 3);
  CHECK(seen.first_token_ns == 33);  // of the last route, which nobody judges
  CHECK(seen.finish_ns == 45);
  CHECK(seen.preemptions == 7);
  CHECK(seen.replica == 2);
  const std::vector<RouteCounts>& counts = s.stages.counts();
  CHECK(counts[0].wasted_tokens == 5);
  CHECK(counts[0].wasted_input_tokens == 10);
  CHECK(counts[1].escalated == 1);
  CHECK(counts[2].kept_tokens == 5);
}

TEST_CASE("an answer that is judged and kept comes as a whole") {
  std::vector<test::TestRoute> routes{to_route(1, 1e-12), {}};
  routes[0].stage.escalation->judge_ns = 40;
  Stages s(std::move(routes));
  const Arrival here = s.stages.begin(request(10, 5), 0);
  s.stages.sink().on_request(finished(0, here, 20));
  CHECK(s.sink.requests.empty());
  REQUIRE_FALSE(s.stages.has_left(0, 20));
  CHECK(s.stages.next_verdict_ns() == 60);
  const RouteStages::Verdict verdict = s.stages.take_verdict();
  CHECK(verdict.next == nullptr);
  CHECK(verdict.outcome == Outcome::finished);
  REQUIRE(s.sink.requests.size() == 1);
  CHECK(s.sink.requests[0].first_token_ns == 60);
  CHECK(s.sink.requests[0].finish_ns == 60);
}

TEST_CASE("who waits for a first token leaves while his answer is judged") {
  std::vector<test::TestRoute> routes{to_route(1, 0.5), {}};
  routes[0].stage.escalation->judge_ns = 40;
  Stages s(std::move(routes));
  Arrival impatient = request(10, 5);
  impatient.first_token_deadline_ns = 50;
  impatient.deadline_ns = 100;
  const Arrival here = s.stages.begin(impatient, 0);
  CHECK(here.deadline_ns == 50);  // nothing is streamed to him
  CHECK(here.first_token_deadline_ns == kNever);
  s.stages.sink().on_request(finished(0, here, 20));
  REQUIRE_FALSE(s.stages.has_left(0, 20));
  CHECK(s.stages.next_verdict_ns() == 50);
  CHECK(s.stages.take_verdict().outcome == Outcome::cancelled);
  REQUIRE(s.sink.requests.size() == 1);
  CHECK(s.sink.requests[0].first_token_ns == -1);
  CHECK(s.sink.requests[0].finish_ns == 50);
  CHECK(s.stages.counts()[0].of(Outcome::cancelled) == 1);
}

TEST_CASE("a route's lengths are in its model's tokens, rounded as traces are") {
  test::TestRoute route{.replicas = 1, .share = 1};
  route.stage.tokens = test::factors(1.25, 0.9, 3);
  Stages s({route});
  Arrival arrival = request(10, 25, 100);
  arrival.thinking_tokens = 5;
  const Arrival here = s.stages.begin(arrival, 0);
  CHECK(here.prompt_tokens == 13);  // 12.5, halves up
  CHECK(here.output_tokens == 33);  // 20 x 0.9 + 5 x 3
  CHECK(here.thinking_tokens == 15);
  CHECK(here.max_tokens == 33 + 68);  // room for 75 more was declared: 67.5
  // An output that a declared limit cuts stays cut by it, in the new tokens.
  CHECK(s.stages.begin(request(10, 50, 20), 1).max_tokens == 18);
  CHECK(s.stages.begin(request(10, 50, 20), 2).output_tokens == 18);
  CHECK(s.stages.begin(request(10, 20), 3).max_tokens == 0);
  // Too long for every engine, not for us.
  CHECK(s.stages.begin(request(INT32_MAX, 1), 4).prompt_tokens == INT32_MAX);
}

TEST_CASE("what a prompt begins with is scaled as in a trace") {
  for (const double factor : {0.3, 1.7}) {
    Trace trace;
    trace.rows = {{.time_ns = 0, .prompt_tokens = 23, .output_tokens = 5}};
    trace.segments = {{11, 1}, {12, 7}, {13, 1}, {14, 9}};
    trace.details = {{.output_segment = 99, .first_segment = 0, .segment_count = 4}};
    Arrival arrival = request(23, 5);
    const std::vector<PrefixSegment> given = trace.segments;
    arrival.prefix = given;
    arrival.output_segment = 99;
    TokenReport report;
    scale_prompts(trace, DecimalFactor(factor, 1000, "factor"), report);
    test::TestRoute route{.replicas = 1, .share = 1};
    route.stage.tokens = test::factors(factor, 1);
    Stages s({route});
    const Arrival& here = s.stages.begin(arrival, 0);
    CHECK(here.prompt_tokens == trace.rows[0].prompt_tokens);
    CHECK(std::vector(here.prefix.begin(), here.prefix.end()) == trace.segments);
    CHECK(here.output_segment == trace.details[0].output_segment);
  }
}

TEST_CASE("an answer that goes along stands behind the prompt, without its thinking") {
  std::vector<test::TestRoute> routes{to_route(1, 1), {}};
  routes[0].stage.tokens = test::factors(1.25, 2, 2);
  routes[0].stage.escalation->with_answer = true;
  routes[1].stage.tokens = test::factors(0.5, 1);
  Stages s(std::move(routes));
  Arrival arrival = request(100, 60);
  arrival.thinking_tokens = 10;
  arrival.output_segment = 5;
  arrival.shared_prompt = 3;
  const Arrival here = s.stages.begin(arrival, 0);
  CHECK(here.output_tokens == 120);
  CHECK(here.output_segment == 0);  // no history will hold this answer
  const Arrival* next = s.answered(0, 9, finished(0, here, 9));
  REQUIRE(next != nullptr);
  // 120 - 20 tokens of the first model are 80 of the traffic.
  CHECK(next->prompt_tokens == (100 + 80) / 2);
  CHECK(next->output_tokens == 60);
  CHECK(next->output_segment == 0);  // later prompts do not hold the first answer
  CHECK(next->shared_prompt == 0);   // it comes alone
}

// --- whole fleets -------------------------------------------------------------------------------

namespace {

struct CascadeRun {
  std::vector<RequestRecord> requests;
  FleetTotals totals;
};

oracle::Scenario engine_of(Ticks step) {
  oracle::Scenario scenario;
  scenario.kv_blocks = 1000;
  scenario.max_model_len = 1000;
  scenario.max_num_batched_tokens = 1000;
  scenario.cost.step = step;
  scenario.cost.decode_context = 333;
  scenario.cost.chunk_token = 77'777;
  return scenario;
}

// Two engines, the second one three times as slow.
CascadeRun served(std::vector<Arrival> arrivals, FleetParts parts, bool resend = false) {
  std::vector<ReplicaParts> engines;
  engines.push_back(test::make_parts(engine_of(1'000'003 * kTicksPerNs / 7)));
  engines.push_back(test::make_parts(engine_of(3'000'001 * kTicksPerNs / 7)));
  engines.back().limits.max_model_len = 200;
  test::ListSource source(std::move(arrivals));
  KeptRecords sink;
  Fleet fleet({.full_check_interval = 1, .resends_lost = resend}, std::move(engines),
              std::move(parts), source, sink);
  fleet.run({});
  return {std::move(sink.requests), fleet.totals()};
}

FleetParts two_stages(double share, TimeNs judge_ns = 0, bool stages = true) {
  std::vector<test::TestRoute> routes{to_route(1, share), {}};
  routes[0].stage.escalation->judge_ns = judge_ns;
  return test::cascade_parts(std::move(routes), "round_robin", 1, stages);
}

// All of them on one of the engines.
CascadeRun alone(const Arrival& arrival, std::size_t engine) {
  std::vector<test::TestRoute> routes(2);
  routes[engine].share = 1;
  return served({arrival}, test::cascade_parts(std::move(routes), "round_robin", 1, false));
}

}  // namespace

TEST_CASE("on idle replicas a cascade takes as long as its stages, one after the other") {
  const Arrival arrival = request(50, 20);
  const RequestRecord small = alone(arrival, 0).requests.at(0);
  const RequestRecord large = alone(arrival, 1).requests.at(0);
  for (const TimeNs judge_ns : {TimeNs{0}, TimeNs{12'345}}) {
    const CascadeRun both = served({arrival}, two_stages(1, judge_ns));
    REQUIRE(both.requests.size() == 1);
    const RequestRecord& seen = both.requests.front();
    CHECK(seen.finish_ns == small.finish_ns + judge_ns + large.finish_ns);
    CHECK(seen.first_token_ns == small.finish_ns + judge_ns + large.first_token_ns);
    CHECK(seen.outcome == Outcome::finished);
    CHECK(seen.output_tokens == 20);
    CHECK(both.totals.replicas[0].output_tokens == 20);
    CHECK(both.totals.replicas[1].output_tokens == 20);
    CHECK(both.totals.routes[0].wasted_tokens == 20);
  }
}

TEST_CASE("who is never sent on is served as by a route alone, but sees the answer at its end") {
  const CascadeRun plain = served({request(50, 20)}, two_stages(1, 0, false));
  const CascadeRun judged = served({request(50, 20)}, two_stages(1e-12));
  RequestRecord expected = plain.requests.at(0);
  CHECK(judged.requests.at(0).finish_ns == expected.finish_ns);
  CHECK(judged.requests.at(0).first_token_ns == expected.finish_ns);
  CHECK(judged.requests.at(0).queued_ns == expected.queued_ns);
  CHECK(judged.requests.at(0).replica == 0);
}

TEST_CASE("patience runs through all stages") {
  const TimeNs first = alone(request(50, 20), 0).requests.at(0).finish_ns;
  Arrival impatient = request(50, 20);
  impatient.deadline_ns = first + 500'000;  // a step and a half of the second engine
  const CascadeRun run = served({impatient}, two_stages(1));
  REQUIRE(run.requests.size() == 1);
  CHECK(run.requests[0].outcome == Outcome::cancelled);
  CHECK(run.requests[0].replica == 1);
  CHECK(run.requests[0].finish_ns >= first + 500'000);
  CHECK(run.totals.routes[1].of(Outcome::cancelled) == 1);
}

TEST_CASE("a request that is too long for the next model is rejected there") {
  const CascadeRun run = served({request(300, 20)}, two_stages(1));
  REQUIRE(run.requests.size() == 1);
  CHECK(run.requests[0].outcome == Outcome::rejected);
  CHECK(run.requests[0].replica == 1);
  CHECK(run.requests[0].arrival_ns == 0);
  CHECK(run.requests[0].queued_ns == 0);
  CHECK(run.totals.routes[1].of(Outcome::rejected) == 1);
  CHECK(run.totals.routes[0].escalated == 1);
}

TEST_CASE("a crash of a later stage loses the request, or its route serves it again") {
  const TimeNs first = alone(request(50, 20), 0).requests.at(0).finish_ns;
  for (const bool resend : {false, true}) {
    FleetParts parts = two_stages(1);
    FaultOptions faults;
    faults.down_ns.assign(2, 1000);
    faults.scheduled = {{first + 1'000'000, FaultKind::crash, 1, 1000, 0}};
    parts.faults = std::make_unique<FaultSchedule>(faults);
    const CascadeRun run = served({request(50, 20)}, std::move(parts), resend);
    REQUIRE(run.requests.size() == 1);
    CHECK(run.requests[0].outcome == (resend ? Outcome::finished : Outcome::lost_to_fault));
    CHECK(run.requests[0].replica == 1);
    CHECK(run.requests[0].queued_ns == 0);
  }
}

}  // namespace headroom::route_stages_test
