#include "sim/metrics/cost_meter.hpp"

#include <catch2/catch.hpp>

#include "sim/kernel/random.hpp"
#include "tests/unit/metrics/one_run.hpp"

namespace headroom::cost_meter_test {

TEST_CASE("cost terms of a run are its affine prices summed up") {
  // 3 steps after 2 earlier ones of the same price: base 100, slope 7: 100 * 3 + 7 * (2 + 3 + 4).
  OneRun one(16, 100, {5});
  one.takes(0, 3, 100, 7);
  one.run.price_offset = 2;
  one.run.first_ticks = 114;
  CostMeter meter;
  meter.add(view_of(one.run));
  CHECK(meter.term(CostTerm::linear_memory) == 300);
  CHECK(meter.term(CostTerm::attention_decode) == 63);
  CHECK(meter.busy_ticks() == 114 + 121 + 128);
  CHECK(meter.steps() == 3);
  CHECK(meter.balanced());
}

TEST_CASE("terms that miss a tick are out of balance") {
  OneRun one(16, 100, {5});
  one.takes(0, 3, 100, 7);
  one.price.base_terms[CostTerm::linear_memory] = 99;
  CostMeter meter;
  meter.add(view_of(one.run));
  CHECK_FALSE(meter.balanced());
}

TEST_CASE("terms are exact over runs short and long, cut anywhere") {
  // Attention takes what the host need not wait for, so that one term falls as another rises; some
  // runs are of hours.
  RandomStream random(5, "cost");
  for (int i = 0; i < 50; ++i) {
    CostMeter meter;
    Int128 host = 0;
    Int128 attention = 0;
    for (int k = 0; k < 40; ++k) {
      OneRun one(16, 100, {5});
      const Ticks whole = random.uniform_int(1, k % 4 == 0 ? 1LL << 61 : 1LL << 44);
      const StepCount steps = k % 3 == 0 ? 1 : random.uniform_int(2, 500);
      const StepCount offset = k % 2 == 0 ? 0 : random.uniform_int(1, 500);
      const Ticks slope = whole / (steps + offset);
      one.takes(0, steps, whole, 0);
      one.run.price_offset = offset;
      one.price.base_terms = {};
      one.price.base_terms[CostTerm::host] = whole;
      one.price.slope_terms = {.attention_decode = slope, .host = -slope};
      if (steps == 1 && k % 2 == 0) {
        meter.add_step(one.run);
      } else {
        meter.add(view_of(one.run));
      }
      for (StepCount step = offset; step < offset + steps; ++step) {
        host += whole - Int128{slope} * step;
        attention += Int128{slope} * step;
      }
    }
    REQUIRE(meter.term(CostTerm::host) == host);
    REQUIRE(meter.term(CostTerm::attention_decode) == attention);
    REQUIRE(meter.balanced());
  }
}

}  // namespace headroom::cost_meter_test
