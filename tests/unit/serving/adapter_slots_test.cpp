#include "sim/serving/adapter_slots.hpp"

#include <catch2/catch.hpp>

namespace headroom::adapter_slots_test {
namespace {

constexpr Ticks kLoad = 1;
constexpr Ticks kRead = 100;

// What it takes until `adapter` is in its slot; it leaves again.
TickSum cost_of(AdapterSlots& slots, std::int32_t adapter) {
  slots.join(adapter);
  slots.leave(adapter);
  slots.on_step();
  return slots.take_load_ticks();
}

TEST_CASE("the latest adapters are on the device, behind them those in host memory") {
  AdapterSlots slots({.adapters = 6,
                      .device_slots = 2,
                      .host_slots = 4,
                      .load_ticks = kLoad,
                      .read_ticks = kRead});
  // 6 and 5 are on the device, 4 and 3 in host memory.
  CHECK(cost_of(slots, 5) == 0);              // 5 6 | 4 3
  CHECK(cost_of(slots, 4) == kLoad);          // 4 5 | 6 3
  CHECK(cost_of(slots, 6) == kLoad);          // 6 4 | 5 3
  CHECK(cost_of(slots, 1) == kLoad + kRead);  // 1 6 | 4 5, 3 is gone
  CHECK(cost_of(slots, 3) == kLoad + kRead);  // 3 1 | 6 4
  CHECK(cost_of(slots, 1) == 0);
  CHECK(slots.counts() == AdapterCounts{.used = 5, .loads = 4, .reads = 2});
}

TEST_CASE("of adapters that left in one step the smallest number stays") {
  AdapterSlots slots({.adapters = 4,
                      .device_slots = 2,
                      .host_slots = 4,
                      .load_ticks = kLoad,
                      .read_ticks = kRead});
  slots.join(1);
  slots.join(2);
  slots.on_step();
  slots.leave(2);
  slots.leave(1);  // 1 2 | 4 3
  slots.on_step();
  static_cast<void>(slots.take_load_ticks());
  slots.join(3);  // 3 in use: 1 | 2 4
  CHECK(slots.take_load_ticks() == kLoad);
  slots.leave(3);
  slots.on_step();
  CHECK(cost_of(slots, 1) == 0);
  CHECK(cost_of(slots, 2) == kLoad);
}

TEST_CASE("who leaves in the same step stands behind smaller numbers, also of those pushed out") {
  AdapterSlots slots({.adapters = 4,
                      .device_slots = 2,
                      .host_slots = 4,
                      .load_ticks = kLoad,
                      .read_ticks = kRead});
  for (const std::int32_t adapter : {1, 2}) slots.join(adapter);
  slots.on_step();
  for (const std::int32_t adapter : {1, 2}) slots.leave(adapter);
  for (const std::int32_t adapter : {3, 4}) slots.join(adapter);
  slots.leave(4);  // 3 in use: 1 | 2 4
  static_cast<void>(slots.take_load_ticks());
  slots.join(1);
  CHECK(slots.take_load_ticks() == 0);
}

TEST_CASE("loads add up beyond the longest step") {
  AdapterSlots slots({.adapters = 6,
                      .device_slots = 3,
                      .host_slots = 3,
                      .load_ticks = kMaxStepTicks - 1,
                      .read_ticks = 0});
  for (const std::int32_t adapter : {1, 2, 3}) slots.join(adapter);
  CHECK(slots.take_load_ticks() == 3 * TickSum{kMaxStepTicks - 1});
}

}  // namespace
}  // namespace headroom::adapter_slots_test
