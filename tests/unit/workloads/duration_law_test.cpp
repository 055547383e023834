#include "workloads/duration_law.hpp"

#include <catch2/catch.hpp>
#include <cstdint>

namespace headroom::duration_law_test {
namespace {

TimeNs at(const DurationOptions& options, double probability) {
  const DurationQuantile quantile(options, "time");
  return quantile(static_cast<std::uint64_t>(probability * 0x1p64));
}

double seconds(TimeNs ns) { return static_cast<double>(ns) / 1e9; }

}  // namespace

TEST_CASE("a fixed duration is the same for all draws, to the nanosecond", "[workloads]") {
  for (const double u : {0.0, 0.3, 0.999}) {
    CHECK(at({.mean_s = 1.25}, u) == 1'250'000'000);
    CHECK(at({.mean_s = 2.6e-9}, u) == 3);
    CHECK(at({.mean_s = 0.0}, u) == 0);
    CHECK(at({.mean_s = 5.0, .max_s = 2.0}, u) == 2'000'000'000);
  }
}

TEST_CASE("durations are the quantiles of their laws", "[workloads]") {
  // 2^-53 of the range beside the exact place: draws are midpoints.
  CHECK(seconds(at({.law = DurationLaw::uniform, .min_s = 2.0, .max_s = 6.0}, 0.25)) ==
        Approx(3.0).epsilon(1e-9));
  // -mean ln(1 - u); ln 2 = 0.693147..., ln 10 = 2.302585...
  const DurationOptions exponential{.law = DurationLaw::exponential, .mean_s = 10.0};
  CHECK(seconds(at(exponential, 0.5)) == Approx(6.931471806).epsilon(1e-9));
  CHECK(seconds(at(exponential, 0.9)) == Approx(23.02585093).epsilon(1e-9));
  // Median = mean * exp(-sigma^2 / 2) = 10 * exp(-0.5); one sigma above (u = .8413447461) e times
  // it.
  const DurationOptions lognormal{.law = DurationLaw::lognormal, .mean_s = 10.0, .sigma = 1.0};
  CHECK(seconds(at(lognormal, 0.5)) == Approx(6.065306597).epsilon(1e-6));
  CHECK(seconds(at(lognormal, 0.8413447461)) == Approx(16.48721271).epsilon(1e-6));
  // Shape 1 is exponential; shape 2, mean 2: 1 - (1 + x) e^-x = 0.5 at x = 1.678346990.
  const DurationOptions gamma{.law = DurationLaw::gamma, .mean_s = 2.0, .shape = 2.0};
  CHECK(seconds(at(gamma, 0.5)) == Approx(1.678346990).epsilon(1e-6));
}

TEST_CASE("durations beyond their ends become these", "[workloads]") {
  const DurationOptions options{
      .law = DurationLaw::exponential, .mean_s = 10.0, .min_s = 1.0, .max_s = 20.0};
  CHECK(at(options, 0.01) == 1'000'000'000);
  CHECK(at(options, 0.5) == 6'931'471'806);
  CHECK(at(options, 0.99) == 20'000'000'000);
  // A mean of 0 leaves nothing but the clamp.
  CHECK(at({.law = DurationLaw::gamma, .mean_s = 0.0, .min_s = 0.5}, 0.7) == 500'000'000);
}

TEST_CASE("the longest duration is 2^62 ns, and the clock ends at never", "[workloads]") {
  const DurationOptions wide{.law = DurationLaw::lognormal, .mean_s = 1e9, .sigma = 10.0};
  CHECK(at(wide, 0.9999999999) == kLongestDurationNs);
  CHECK(instant_after(5, 7) == 12);
  CHECK(instant_after(kNever - 8, 7) == kNever - 1);
  CHECK(instant_after(kNever - 7, 7) == kNever);
  CHECK(instant_after(kLongestDurationNs, kLongestDurationNs) == kNever);
  CHECK(instant_after(0, kNever) == kNever);
}

TEST_CASE("a larger draw is never a shorter duration", "[workloads]") {
  for (const auto law : {DurationLaw::fixed, DurationLaw::uniform, DurationLaw::exponential,
                         DurationLaw::lognormal, DurationLaw::gamma}) {
    const DurationOptions options{.law = law, .mean_s = 3.0, .min_s = 1.0, .max_s = 9.0};
    TimeNs before = 0;
    for (int i = 0; i < 1000; ++i) {
      const TimeNs time = at(options, i / 1000.0);
      CHECK(time >= before);
      before = time;
    }
  }
}

}  // namespace headroom::duration_law_test
