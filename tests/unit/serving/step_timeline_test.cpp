#include "sim/serving/step_timeline.hpp"

#include <catch2/catch.hpp>

namespace headroom::step_timeline_test {
namespace {

constexpr Ticks kMicrosecond = ticks_from_ns(1000);

// `steps` decode steps of 1, 1 + slope, ... us each are planned at `now_ns`.
void plan(StepTimeline& time, TimeNs now_ns, StepCount steps, Ticks slope = 0) {
  time.begin_planning(now_ns);
  Segment& segment = time.begin_segment(true);
  segment.price.base = kMicrosecond;
  segment.price.slope = slope;
  time.push(segment, steps);
  time.end_planning();
  time.schedule_next_stop(false);
}

void end(StepTimeline& time, StepCount steps) {
  Segment& segment = time.segments().front();
  time.end_steps(segment, steps, segment.duration(steps));
  if (segment.left() == 0) time.segments().pop();
}

TEST_CASE("a run of steps is planned once, and its repetitions are applied later") {
  StepTimeline time(1, false);
  CHECK(time.next_stop_ns() == kNever);
  plan(time, 5000, 10);
  CHECK(time.planned() == 10);
  CHECK(time.applied() == 1);
  CHECK(time.completed() == 0);
  CHECK(time.plan_due() == 10);
  CHECK(time.next_stop_ns() == 15'000);
  CHECK(time.end_of_plans() == ticks_from_ns(15'000));
  end(time, 4);
  CHECK(time.planned_at_end_of(time.completed()) == 5);
  time.apply(4);
  CHECK(time.applied() == 5);
  CHECK(time.ended_by(11'999) == 6);
  CHECK(time.ended_by(12'000) == 7);
  CHECK(time.ended_before(12'000) == 7);
}

TEST_CASE("an arrival cuts a run at the next step end") {
  for (const std::int32_t depth : {1, 2}) {
    StepTimeline time(depth, false);
    plan(time, 0, 10);
    CHECK(time.plan_due() == 11 - depth);
    time.cut_at(3'500);
    CHECK(time.next_stop_ns() == 4'000);
    CHECK(time.plan_due() == 4);
    CHECK(time.planned() == 3 + depth);
    time.cut_at(3'600);  // nothing is left to cut
    CHECK(time.planned() == 3 + depth);
  }
}

TEST_CASE("the next stop is a request's before the plan's") {
  StepTimeline time(1, false);
  time.stops().track(0);
  time.stops().push({.decode = 3, .id = 0});
  plan(time, 0, 10);
  CHECK(time.next_stop_step() == 3);
  CHECK(time.next_stop_ns() == 3'000);
  CHECK(time.steps_to_next_stop() == 3 - 10);
  time.stops().begin_epoch(0);
  time.schedule_next_stop(false);
  CHECK(time.next_stop_step() == 10);
  time.forget_all();
  time.rest_until(20'000);
  CHECK(time.idle());
  CHECK(time.planned() == time.completed());
  CHECK(time.next_stop_ns() == kNever);
  CHECK(time.clock() == ticks_from_ns(20'000));
}

}  // namespace
}  // namespace headroom::step_timeline_test
