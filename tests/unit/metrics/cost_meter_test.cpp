#include "sim/metrics/cost_meter.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/metrics/one_run.hpp"

using namespace headroom;

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
