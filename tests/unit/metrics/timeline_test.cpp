#include "sim/metrics/timeline.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

#include "sim/kernel/check.hpp"
#include "sim/kernel/random.hpp"
#include "sim/metrics/recorder.hpp"
#include "tests/unit/metrics/one_run.hpp"

namespace headroom::timeline_test {

namespace {

ReplicaState empty_pool() {
  ReplicaState state;
  state.pool = {4, true, 100, 100, 0, 100};
  return state;
}

void queue(Recorder& recorder, std::uint64_t index, TimeNs t) {
  recorder.on_event({.kind = EngineEventKind::queued, .time_ns = t, .request = index});
}

void leave(Recorder& recorder, std::uint64_t index, TimeNs queued_ns, TimeNs finish_ns) {
  RequestRecord record;
  record.index = index;
  record.arrival_ns = record.queued_ns = queued_ns;
  record.finish_ns = finish_ns;
  record.outcome = finish_ns < 0 ? Outcome::unfinished : Outcome::finished;
  recorder.on_request(record);
}

}  // namespace

TEST_CASE("a sample shows the state after all events up to its time") {
  // Every 10 ns. A request arrives at 5 and starts; others arrive at 12 and, exactly on a sample,
  // 20. Steps [5, 15) and [15, 25) with 4 and 5 tokens, 1 and 2 blocks of 4.
  Recorder recorder({.timeline = {.interval_ns = 10}});
  recorder.on_idle(0, 0, empty_pool());
  queue(recorder, 0, 5);
  queue(recorder, 1, 12);
  queue(recorder, 2, 20);
  OneRun one(4, 100, {3});
  one.takes(ticks_from_ns(5), 2, 10 * kNsTicks, 0);
  one.state.waiting = 2;  // as the replica knows it when it reports, at 25
  recorder.on_steps(one.run);
  leave(recorder, 0, 5, 25);
  ReplicaState idle = empty_pool();
  idle.waiting = 2;
  recorder.on_idle(0, ticks_from_ns(25), idle);
  queue(recorder, 3, 31);
  leave(recorder, 1, 12, -1);
  leave(recorder, 2, 20, -1);
  leave(recorder, 3, 31, -1);
  recorder.finish(40);

  const auto rows = recorder.timeline().rows(0);
  REQUIRE(rows.size() == 5);  // 0, 10, 20, 30, 40
  const std::vector<std::int64_t> running{0, 1, 1, 0, 0};
  const std::vector<std::int64_t> waiting{0, 0, 2, 2, 3};
  const std::vector<TokenCount> used{0, 4, 5, 0, 0};
  const std::vector<TokenCount> internal{0, 0, 3, 0, 0};
  for (std::size_t i = 0; i < 5; ++i) {
    CAPTURE(i);
    CHECK(rows[i].time_ns == static_cast<TimeNs>(10 * i));
    CHECK(rows[i].running == running[i]);
    CHECK(rows[i].waiting == waiting[i]);
    CHECK(rows[i].kv.used == used[i]);
    CHECK(rows[i].kv.internal == internal[i]);
  }
}

TEST_CASE("a step end on a sample belongs to the sample") {
  // [0, 10) and [10, 20) plus half a nanosecond each: ends at 10.5 and 21, so 10 still is in step 1
  // only if floor(10.5) > 10, which it is not: the sample at 10 shows step 2.
  Timeline timeline({.interval_ns = 10});
  OneRun one(4, 100, {3});
  one.takes(0, 2, 10 * kNsTicks + kNsTicks / 2, 0);
  timeline.add_run(view_of(one.run));
  REQUIRE(timeline.rows(0).size() == 3);  // 0, 10, 20
  CHECK(timeline.rows(0)[0].kv.used == 4);
  CHECK(timeline.rows(0)[1].kv.used == 5);
  CHECK(timeline.rows(0)[2].kv.used == 5);
}

TEST_CASE("an OOM has a row of its own, before the sample of the same time") {
  Timeline timeline({.interval_ns = 10});
  ReplicaState full = empty_pool();
  full.pool.free_blocks = full.pool.largest_hole = 0;
  timeline.add_oom(0, 10, full);
  timeline.add_constant(0, empty_pool(), 21);
  timeline.finish();
  const auto rows = timeline.rows(0);
  REQUIRE(rows.size() == 4);
  CHECK((rows[0].time_ns == 0 && !rows[0].oom));
  CHECK((rows[1].time_ns == 10 && rows[1].oom && rows[1].kv.internal == 400));
  CHECK((rows[2].time_ns == 10 && !rows[2].oom));
  CHECK(rows[3].time_ns == 20);
}

TEST_CASE("a timeline that grows too long doubles its interval") {
  // At the 4th sample (30) every other one goes: 0, 20; then 40, 60 make 4 again: 0, 40; 80, ...
  Timeline timeline({.interval_ns = 10, .max_samples = 4});
  timeline.add_constant(0, empty_pool(), 101);
  CHECK(timeline.interval_ns() == 40);
  REQUIRE(timeline.rows(0).size() == 3);
  CHECK(timeline.rows(0)[1].time_ns == 40);
  CHECK(timeline.rows(0)[2].time_ns == 80);
}

TEST_CASE("a sample counts who had queued by then, whenever the run around it is reported") {
  // Nobody is admitted, so that whoever came by t waits at t. Runs pass several samples, arrivals
  // come in runs and exactly on samples, the interval doubles while some lie ahead.
  RandomStream random(7, "queue");
  for (int trial = 0; trial < 50; ++trial) {
    Timeline timeline({.interval_ns = 10, .max_samples = 16});
    std::vector<TimeNs> arrivals;
    TimeNs begin = 0;
    for (int i = 0; i < 40; ++i) {
      const bool idle = random.uniform_int(0, 3) == 0;
      const TimeNs end = begin + random.uniform_int(1, i % 10 == 0 ? 200 : 15);
      OneRun one(4, 100, {3});
      one.takes(ticks_from_ns(begin), 1, (end - begin) * kNsTicks, 0);
      one.state.waiting = static_cast<std::int64_t>(arrivals.size());
      if (idle) timeline.count_queue(0);  // its state is known when it begins
      for (TimeNs t = begin + random.uniform_int(0, 9); t < end; t += random.uniform_int(0, 9)) {
        timeline.change_queue(0, t, 1);
        arrivals.push_back(t);
        one.state.waiting += idle ? 0 : 1;
      }
      if (idle) {
        timeline.add_constant(0, one.state, end);
      } else {
        timeline.add_step(one.run, end);
      }
      begin = end;
    }
    for (const TimelineRow& row : timeline.rows(0)) {
      CAPTURE(trial, row.time_ns);
      const auto by_then =
          std::ranges::count_if(arrivals, [&row](TimeNs t) { return t <= row.time_ns; });
      REQUIRE(row.waiting == by_then);
    }
  }
}

TEST_CASE("samples of a fleet add up by time") {
  Timeline timeline({.interval_ns = 10});
  ReplicaState busy = empty_pool();
  busy.running = 3;
  timeline.add_constant(0, busy, 15);
  timeline.add_constant(1, busy, 25);
  const auto rows = timeline.fleet_rows();
  REQUIRE(rows.size() == 3);
  CHECK(rows[1].running == 6);
  CHECK(rows[2].running == 3);
  CHECK(rows[1].kv.capacity == 800);
}

TEST_CASE("a request without a record fails the run") {
  Recorder recorder;
  recorder.on_idle(0, 0, empty_pool());
  queue(recorder, 0, 5);
  CHECK_THROWS_AS(recorder.finish(10), InternalError);
}

TEST_CASE("a record whose end differs from the departure fails Little's law") {
  PopulationMeter meter;
  meter.enter(5);
  meter.leave(25);
  RequestRecord record;
  record.queued_ns = 5;
  record.finish_ns = 25;
  RecordTotals right;
  right.add(record);
  check_littles_law(meter, right, 30);
  record.finish_ns = 26;
  RecordTotals late;
  late.add(record);
  CHECK_THROWS_AS(check_littles_law(meter, late, 30), InternalError);
}

TEST_CASE("a request that is recorded twice is a bug of ours") {
  Recorder recorder;
  leave(recorder, 3, -1, 7);
  CHECK_THROWS_AS(leave(recorder, 3, -1, 8), InternalError);
}

}  // namespace headroom::timeline_test
