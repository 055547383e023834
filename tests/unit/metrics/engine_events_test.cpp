// What is kept of an engine's events: the log, thrashing, and the list of OOMs made from them.
#include <catch2/catch.hpp>

#include "sim/metrics/event_log.hpp"
#include "sim/metrics/summary.hpp"
#include "sim/metrics/thrash_meter.hpp"
#include "tests/unit/metrics/one_run.hpp"

namespace headroom::engine_events_test {

namespace {

EngineEvent event(EngineEventKind kind, TimeNs time_ns, std::uint64_t request,
                  TokenCount tokens = 0, TokenCount cached = 0) {
  EngineEvent e;
  e.kind = kind;
  e.time_ns = time_ns;
  e.request = request;
  e.tokens = tokens;
  e.cached_tokens = cached;
  return e;
}

constexpr TimeNs kSecond = kNsPerSecond;

// `steps` steps of 10 ms with one row from `begin_ns` on.
void run_steps(ThrashMeter& meter, TimeNs begin_ns, StepCount steps) {
  OneRun one(16, 100, {5});
  one.takes(ticks_from_ns(begin_ns), steps, 10'000'000 * kNsTicks, 0);
  meter.add_run(view_of(one.run));
}

}  // namespace

TEST_CASE("queueing and admission are counted but not kept") {
  EventLog log;
  log.add(event(EngineEventKind::queued, 1, 0));
  log.add(event(EngineEventKind::admitted, 2, 0));
  log.add(event(EngineEventKind::preempted, 3, 0, 40));
  REQUIRE(log.events().size() == 1);
  CHECK(log.events()[0].tokens == 40);
  CHECK(log.count(EngineEventKind::admitted) == 1);
}

TEST_CASE("a log that keeps few events leaves room for those that explain something") {
  EventLog all;
  EventLog few(2);
  for (EventLog* log : {&all, &few}) {
    for (std::uint64_t i = 0; i < 5; ++i) log->add(event(EngineEventKind::escalated, 1, i));
    log->add(event(EngineEventKind::crashed, 2, 0));
    CHECK(log->count(EngineEventKind::escalated) == 5);
  }
  CHECK(all.events().size() == 6);
  REQUIRE(few.events().size() == 1);
  CHECK(few.events()[0].kind == EngineEventKind::crashed);
  CHECK(few.not_kept() == 0);
}

TEST_CASE("a placement refusal is kept once per wait, with its end") {
  EventLog log;
  log.add(event(EngineEventKind::placement_refused, 10, 7, 100));
  log.add(event(EngineEventKind::placement_refused, 20, 7, 100));
  log.add(event(EngineEventKind::admitted, 25, 6));
  log.add(event(EngineEventKind::admitted, 30, 7));
  log.add(event(EngineEventKind::placement_refused, 40, 8, 90));
  REQUIRE(log.events().size() == 2);
  CHECK(log.events()[0].time_ns == 10);
  CHECK(log.events()[0].until_ns == 30);
  CHECK(log.events()[1].until_ns == -1);
  CHECK(log.count(EngineEventKind::placement_refused) == 2);
}

TEST_CASE("tokens fall into the window in which their step ends") {
  // From 59.5 s on, 100 steps of 10 ms: 49 end before 60 s, the 50th exactly at 60 s.
  ThrashMeter meter;
  run_steps(meter, 59 * kSecond + kSecond / 2, 100);
  REQUIRE(meter.windows().size() == 2);
  CHECK(meter.windows()[0].sampled_tokens == 49);
  CHECK(meter.windows()[1].sampled_tokens == 51);
}

TEST_CASE("a window that recomputes more than it samples is thrash") {
  // Window 1: 500 tokens dropped, 96 found again: 404 recomputed against 300 sampled.
  ThrashMeter meter;
  run_steps(meter, 0, 1000);
  meter.add_event(event(EngineEventKind::preempted, 50 * kSecond, 3, 500));
  meter.add_event(event(EngineEventKind::admitted, 61 * kSecond, 2, 900));  // was never preempted
  meter.add_event(event(EngineEventKind::admitted, 62 * kSecond, 3, 700, 96));
  run_steps(meter, 70 * kSecond, 300);
  CHECK(meter.recomputed_tokens() == 404);
  const auto found = meter.first_thrashing(200 * kSecond);
  REQUIRE(found);
  CHECK(found->number == 1);
  CHECK(found->recomputed_tokens == 404);
  CHECK(found->sampled_tokens == 300);
  CHECK_FALSE(meter.first_thrashing(119 * kSecond));  // the window is not over
}

TEST_CASE("as many tokens sampled as recomputed is no thrash") {
  ThrashMeter meter;
  meter.add_event(event(EngineEventKind::preempted, 0, 3, 300));
  meter.add_event(event(EngineEventKind::admitted, 1, 3, 700));
  run_steps(meter, 0, 300);
  CHECK_FALSE(meter.first_thrashing(200 * kSecond));
}

TEST_CASE("the list of OOMs: run-time ones each, rejections together, in order of time") {
  Recorder recorder;
  ReplicaState state;
  state.pool = {16, true, 100, 2, 0, 2};
  recorder.on_idle(0, 0, state);
  for (std::uint64_t i = 0; i < 3; ++i) {
    EngineEvent rejected = event(EngineEventKind::rejected, 5 + static_cast<TimeNs>(i), i, 9000);
    rejected.oom = OomKind::rejected_too_long;
    recorder.on_event(rejected);
    RequestRecord record;
    record.index = i;
    record.finish_ns = rejected.time_ns;
    record.outcome = Outcome::rejected;
    recorder.on_request(record);
  }
  EngineEvent refused = event(EngineEventKind::rejected, 4, 7, 9999);
  refused.oom = OomKind::context_length_exceeded;
  recorder.on_event(refused);
  EngineEvent oom = event(EngineEventKind::oom, 2, UINT64_MAX, 50);
  oom.oom = OomKind::runtime_device;
  oom.state = &state;
  recorder.on_event(oom);
  recorder.finish(100);
  const RunSummary summary = summarise(recorder, {});
  CHECK(summary.requests.arrived == 3);
  CHECK(summary.requests.rejected == 3);
  REQUIRE(summary.ooms.size() == 2);
  CHECK(summary.ooms[0].kind == OomKind::runtime_device);
  CHECK(summary.ooms[0].kv->capacity == 1600);
  CHECK(summary.ooms[1].kind == OomKind::rejected_too_long);
  CHECK(summary.ooms[1].count == 3);
  CHECK(summary.ooms[1].time_ns == 5);
  REQUIRE(summary.refused.size() == 1);  // longer than the engine takes: no lack of memory
  CHECK(summary.refused[0].wanted_tokens == 9999);
  CHECK(summary.memory.peak_utilisation == Approx(0.98));
  CHECK(summary.memory.mean_utilisation == Approx(0.98));
}

}  // namespace headroom::engine_events_test
