#include "sim/metrics/itl_meter.hpp"

#include <catch2/catch.hpp>

#include "sim/kernel/random.hpp"
#include "sim/metrics/serving_metrics.hpp"
#include "tests/unit/metrics/one_run.hpp"

namespace headroom::itl_meter_test {

TEST_CASE("the gaps of a run are its step durations, once per row") {
  // Two rows, steps of 10, 12, 14 ns: sum 2 * 36, squares 2 * (100 + 144 + 196).
  OneRun one(16, 100, {5, 6});
  one.takes(0, 3, 10 * kNsTicks, 2 * kNsTicks);
  ItlMeter meter;
  meter.add(one.run);
  CHECK(meter.count() == 6);
  CHECK(meter.sum_ticks() == 72 * kNsTicks);
  CHECK(meter.sum_squares().low() == (Uint128{880} << 40));
  CHECK(meter.histogram_ns().count_in(10) == 2);
  CHECK(meter.histogram_ns().count_in(12) == 2);
  CHECK(meter.histogram_ns().count_in(14) == 2);
  const ServingMetrics metrics = serving_metrics({}, &meter, {});
  CHECK(metrics.mean_itl_ms == Approx(12e-6));
  CHECK(metrics.std_itl_ms == Approx(1.6329931618554521e-6));  // sqrt(8 / 3) ns
}

TEST_CASE("gaps that clients see take the place of the durations") {
  // Two rows, three steps of 10 ns; their tokens come 25, 20, and 22 ns after those before:
  // sum 2 * 67, squares 2 * (625 + 400 + 484).
  OneRun one(16, 100, {5, 6});
  one.takes(0, 3, 10 * kNsTicks, 0);
  const std::vector<GapRun> gaps{{25 * kNsTicks, 0, 1}, {20 * kNsTicks, 2 * kNsTicks, 2}};
  one.run.gaps = gaps;
  ItlMeter meter;
  meter.add(one.run);
  CHECK(meter.count() == 6);
  CHECK(meter.sum_ticks() == 134 * kNsTicks);
  CHECK(meter.sum_squares().low() == (Uint128{3018} << 40));
  CHECK(meter.histogram_ns().count_in(10) == 0);
  CHECK(meter.histogram_ns().count_in(25) == 2);
}

TEST_CASE("equal gaps of a run may be longer than any step") {
  // 2^64 ticks (5 h) behind a server, in 100'000 steps of two rows: more than are added at once.
  // Squares: 2 * 10^5 * 2^128.
  OneRun one(16, 100, {5, 6});
  one.takes(0, 100'000, 10 * kNsTicks, 0);
  const std::vector<GapRun> gaps{{TickSum{1} << 64, 0, 100'000}};
  one.run.gaps = gaps;
  ItlMeter meter;
  meter.add(one.run);
  CHECK(meter.count() == 200'000);
  CHECK(meter.sum_ticks() == (TickSum{200'000} << 64));
  CHECK(serving_metrics({}, &meter, {}).std_itl_ms == 0.0);
}

TEST_CASE("a constant gap has a deviation of exactly 0") {
  OneRun one(16, 100, {5, 6, 7});
  one.takes(0, 1000, 33'333'333'333'333, 0);
  ItlMeter meter;
  meter.add(one.run);
  CHECK(serving_metrics({}, &meter, {}).std_itl_ms == 0.0);
}

TEST_CASE("a gap over an interruption counts once, however long") {
  // 2^70 ticks: its square, 2^140, lies above 128 bits.
  OneRun one(16, 100, {});
  one.takes(0, 1, kNsTicks, 0);
  const std::vector<GapGroup> gaps{{TickSum{1} << 70, 1}};
  one.run.other_gaps = gaps;
  ItlMeter meter;
  meter.add(one.run);
  CHECK(meter.count() == 1);
  CHECK(meter.sum_squares().high() == std::uint64_t{1} << 12);
  CHECK(meter.sum_squares().low() == 0);
}

TEST_CASE("bucket by bucket equals step by step") {
  RandomStream random(3, "itl");
  for (int i = 0; i < 200; ++i) {
    OneRun one(16, 100, {1, 2});
    const Ticks first = random.uniform_int(1LL << 30, i % 2 == 0 ? 1LL << 46 : 1LL << 52);
    const StepCount steps = i % 5 == 0 ? 1 : random.uniform_int(2, 3000);
    Ticks slope = random.uniform_int(0, 1LL << 34);
    if (i % 3 == 0) slope = -first / (steps + 1);
    one.takes(0, steps, first, slope);
    ItlMeter meter;
    meter.add(one.run);
    LogHistogram expected;
    WideSum squares;
    TickSum sum = 0;
    for (StepCount k = 0; k < steps; ++k) {
      const Ticks gap = first + k * slope;
      sum += 2 * gap;
      expected.add(gap >> kTickBits, 2);
      squares.add(static_cast<Uint128>(gap) * static_cast<Uint128>(gap), 2);
    }
    REQUIRE(meter.histogram_ns() == expected);
    REQUIRE(meter.sum_squares() == squares);
    REQUIRE(meter.sum_ticks() == sum);
  }
}

}  // namespace headroom::itl_meter_test
