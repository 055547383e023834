#include "sim/server/serve_clock.hpp"

#include <catch2/catch.hpp>

namespace headroom::serve_clock_test {
namespace {

TEST_CASE("simulated time begins with the first request and has its own pace", "[server]") {
  TimeNs wall_ns = 500;
  ServeClock clock([&wall_ns] { return wall_ns; }, 10);
  CHECK(clock.now_ns() == 0);
  CHECK(clock.wall_of(7) == kNever);
  clock.begin();
  wall_ns = 600;
  clock.begin();  // it runs already
  CHECK(clock.now_ns() == 1000);
  CHECK(clock.wall_of(kNever) == kNever);
  // When an alarm at that time rings, the simulated time has come.
  for (const TimeNs time_ns : {TimeNs{1}, TimeNs{999}, TimeNs{12'345}}) {
    wall_ns = clock.wall_of(time_ns);
    CHECK(clock.now_ns() >= time_ns);
    CHECK(clock.now_ns() <= time_ns + 20);
  }
}

TEST_CASE("a frozen clock goes on where it stood", "[server]") {
  TimeNs wall_ns = 0;
  ServeClock clock([&wall_ns] { return wall_ns; }, 2);
  clock.begin();
  wall_ns = 100;
  clock.freeze(true);
  wall_ns = 400;
  CHECK(clock.now_ns() == 200);
  CHECK(clock.wall_of(300) == kNever);
  clock.freeze(true);
  clock.freeze(false);
  CHECK(clock.now_ns() == 200);
  wall_ns = 450;
  CHECK(clock.now_ns() == 300);
}

}  // namespace
}  // namespace headroom::serve_clock_test
