#include "sim/kernel/time.hpp"

#include <catch2/catch.hpp>

namespace headroom::time_test {
namespace {

TEST_CASE("an instant falls into the nanosecond at or before it", "[time]") {
  CHECK(floor_ns(ticks_from_ns(5)) == 5);
  CHECK(floor_ns(ticks_from_ns(5) + 1) == 5);
  CHECK(floor_ns(ticks_from_ns(6) - 1) == 5);
  CHECK(floor_ns(ticks_from_ns(6)) == 6);
}

TEST_CASE("an instant before zero rounds down, not towards zero", "[time]") {
  CHECK(floor_ns(-1) == -1);
  CHECK(floor_ns(ticks_from_ns(-3)) == -3);
}

TEST_CASE("the last nanosecond that a run can reach survives the way to ticks and back", "[time]") {
  CHECK(floor_ns(ticks_from_ns(kNever)) == kNever);
}

TEST_CASE("the longest step is a little over 73 minutes", "[time]") {
  // 2^62 ticks / 2^20 ticks per ns = 2^42 ns = 4398.05 s.
  CHECK(floor_ns(kMaxStepTicks) == TimeNs{1} << 42);
  CHECK(floor_ns(kMaxStepTicks) / kNsPerSecond == 4398);
}

}  // namespace
}  // namespace headroom::time_test
