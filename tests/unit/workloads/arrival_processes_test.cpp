// Arrival processes whose rate changes: exact instants, ends, streams and refusals. Their laws are
// in tests/laws/arrival_laws_test.cpp.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "sim/kernel/digest.hpp"
#include "sim/kernel/errors.hpp"
#include "workloads/arrivals.hpp"

namespace headroom::arrival_processes_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kTwoPi = 6.283185307179586;

std::vector<TimeNs> times(const ArrivalOptions& options, std::size_t count,
                          std::uint64_t seed = 1) {
  ArrivalTimes arrivals(options, seed, std::nullopt);
  std::vector<TimeNs> all(count);
  arrivals.fill(all);
  return all;
}

std::vector<TimeNs> poisson(double rate_per_s, std::size_t count) {
  return times({.rate_per_s = rate_per_s}, count);
}

ArrivalOptions piecewise(PiecewiseOptions profile, double burstiness = 1.0) {
  ArrivalOptions options{.process = ArrivalProcess::piecewise, .burstiness = burstiness};
  options.piecewise = std::move(profile);
  return options;
}

ArrivalOptions ramp(double start, double end, double seconds, RampShape shape) {
  ArrivalOptions options{
      .process = ArrivalProcess::ramp, .rate_per_s = start, .burstiness = kInfinity};
  options.ramp = {.end_rate_per_s = end, .ramp_s = seconds, .shape = shape};
  return options;
}

ArrivalOptions on_off(double rate, OnOffOptions periods) {
  ArrivalOptions options{.process = ArrivalProcess::on_off, .rate_per_s = rate};
  options.on_off = periods;
  return options;
}

ArrivalOptions mmpp(MmppOptions states) {
  ArrivalOptions options{.process = ArrivalProcess::mmpp};
  options.mmpp = std::move(states);
  return options;
}

ArrivalOptions diurnal(DiurnalOptions wave, double burstiness = kInfinity) {
  ArrivalOptions options{
      .process = ArrivalProcess::diurnal, .rate_per_s = 1.0, .burstiness = burstiness};
  options.diurnal = wave;
  return options;
}

// Seconds of request k (from 1), to the nanosecond or what a double of the seconds can hold.
void check_seconds(const std::vector<TimeNs>& all, std::size_t k, double seconds) {
  CAPTURE(k, seconds, all[k - 1]);
  CHECK(std::abs(static_cast<double>(all[k - 1]) - seconds * 1e9) < 1.0);
}

TimeNs largest_difference(const std::vector<TimeNs>& a, const std::vector<TimeNs>& b) {
  TimeNs largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

}  // namespace

TEST_CASE("equal gaps in integrated rate fall where the segments put them", "[workloads]") {
  // 3 requests/s for 2 s are requests 1 .. 6, the last one at the very end; then silence; then
  // requests 7 and 8 half a second apart; then one every 2 s.
  PiecewiseOptions profile{.segments = {{2.0, 3.0}, {4.0, 0.0}, {1.0, 2.0}},
                           .tail_rate_per_s = 0.5};
  const std::vector<TimeNs> all = times(piecewise(profile, kInfinity), 10);
  for (std::size_t k = 1; k <= 6; ++k) check_seconds(all, k, static_cast<double>(k) / 3.0);
  CHECK(all[5] == 2'000'000'000);
  CHECK(all[6] == 6'500'000'000);
  CHECK(all[7] == 7'000'000'000);
  CHECK(all[8] == 9'000'000'000);
  CHECK(all[9] == 11'000'000'000);
}

TEST_CASE("segments that repeat begin again where the list ends", "[workloads]") {
  // 8 requests in each 7 s: request 8 n + 7 at 7 n + 6.5 s.
  const std::vector<TimeNs> all = times(
      piecewise({.segments = {{2.0, 3.0}, {4.0, 0.0}, {1.0, 2.0}}, .repeat = true}, kInfinity),
      80'000);
  CHECK(all[8 * 9'999 + 6] == 69'999'500'000'000);
  CHECK(all.back() == 70'000'000'000'000);
}

TEST_CASE("a process whose rate ends is kNever from there on", "[workloads]") {
  const ArrivalOptions options =
      piecewise({.segments = {{2.0, 3.0}, {4.0, 0.0}, {1.0, 2.0}}}, kInfinity);
  ArrivalTimes arrivals(options, 1, 20);
  std::vector<TimeNs> all(10);
  arrivals.fill(all);
  CHECK(all[7] == 7'000'000'000);
  CHECK(all[8] == kNever);
  CHECK(all[9] == kNever);
  arrivals.fill(all);
  CHECK(all == std::vector<TimeNs>(10, kNever));
}

TEST_CASE("short segments do not drift", "[workloads]") {
  // A third of a millisecond is no whole number of nanoseconds; three million of them are 1000 s.
  const std::vector<TimeNs> all =
      times(piecewise({.segments = {{1e-3 / 3.0, 1500.0}, {1e-3 / 3.0, 4500.0}}, .repeat = true},
                      kInfinity),
            3'000'000);
  CHECK(all.back() == 1'000'000'000'000);
}

TEST_CASE("a linear ramp is inverted exactly, up and down", "[workloads]") {
  // From 0 to 2/s in 10 s: k = t^2 / 10, 10 requests; then 2/s.
  const auto up = times(ramp(0.0, 2.0, 10.0, RampShape::linear), 14);
  for (std::size_t k = 1; k <= 10; ++k) check_seconds(up, k, std::sqrt(10.0 * double(k)));
  check_seconds(up, 14, 12.0);
  // From 2/s to 0: k = 2 t - t^2 / 10; the tenth request comes at the end, and no eleventh.
  const auto down = times(ramp(2.0, 0.0, 10.0, RampShape::linear), 12);
  for (std::size_t k = 1; k <= 9; ++k) {
    check_seconds(down, k, 10.0 - std::sqrt(100.0 - 10.0 * double(k)));
  }
  CHECK(std::abs(static_cast<double>(down[9]) - 10e9) < 2e5);  // the rate is 0 there: flat
  CHECK(down[10] == kNever);
  CHECK(down[11] == kNever);
}

TEST_CASE("an exponential ramp is inverted exactly, up and down", "[workloads]") {
  // From 1/s to 4/s in 10 s: k = 10 (4^(t/10) - 1) / ln 4, 21.64 requests; then 4/s.
  const auto up = times(ramp(1.0, 4.0, 10.0, RampShape::exponential), 30);
  for (std::size_t k = 1; k <= 21; ++k) {
    check_seconds(up, k, 10.0 * std::log1p(double(k) * std::log(4.0) / 10.0) / std::log(4.0));
  }
  check_seconds(up, 30, 10.0 + (30.0 - 30.0 / std::log(4.0)) / 4.0);
  const auto down = times(ramp(4.0, 1.0, 10.0, RampShape::exponential), 30);
  for (std::size_t k = 1; k <= 21; ++k) {
    check_seconds(down, k, -10.0 * std::log1p(-double(k) * std::log(4.0) / 40.0) / std::log(4.0));
  }
  check_seconds(down, 30, 10.0 + (30.0 - 30.0 / std::log(4.0)));
}

TEST_CASE("the diurnal wave is a sine within 2.4e-6 and exact over a period", "[workloads]") {
  // Requests up to t at mean 1/s: t + A P / (2 pi) (cos(phase) - cos(2 pi (t - phase) / P)).
  const double period = 1000.0;
  for (const double phase : {0.0, 250.0, -100.0}) {
    for (const double amplitude : {0.0, 0.6, 1.0}) {
      const auto all =
          times(diurnal({.amplitude = amplitude, .period_s = period, .phase_s = phase}), 3000);
      if (amplitude < 1.0) {  // else the rate is nearly 0 there for one of the phases
        CHECK(all[999] == 1'000'000'000'000);
        CHECK(all[2999] == 3'000'000'000'000);
      }
      double worst = 0.0;
      for (std::size_t k = 1; k <= all.size(); ++k) {
        const double t = static_cast<double>(all[k - 1]) * 1e-9;
        const double wave =
            std::cos(kTwoPi * phase / period) - std::cos(kTwoPi * (t - phase) / period);
        const double expected = t + amplitude * period / kTwoPi * wave;
        worst = std::max(worst, std::abs(expected - double(k)));
      }
      CAPTURE(phase, amplitude);
      CHECK(worst < 2.4e-6 * period / 3.0);
    }
  }
}

TEST_CASE("a constant rate in pieces is poisson, draw by draw", "[workloads]") {
  // Sums of the same gaps, in other units: a nanosecond of rounding and no more.
  const std::vector<TimeNs> plain = poisson(4.0, 100'000);
  CHECK(largest_difference(times(piecewise({.segments = {{3.0, 4.0}}, .repeat = true}), 100'000),
                           plain) <= 1);
  CHECK(largest_difference(
            times(piecewise({.segments = {{3.0, 4.0}}, .tail_rate_per_s = 4.0}), 100'000), plain) <=
        1);
  ArrivalOptions flat = ramp(4.0, 4.0, 7.0, RampShape::exponential);
  flat.burstiness = 1.0;
  CHECK(largest_difference(times(flat, 100'000), plain) <= 1);
  CHECK(largest_difference(times(on_off(4.0, {.on_s = 2.0, .off_s = 0.0}), 100'000), plain) <= 1);
  CHECK(largest_difference(
            times(mmpp({.rates_per_s = {4.0, 4.0}, .sojourns_s = {0.1, 2.0}}), 100'000), plain) <=
        1);
}

TEST_CASE("gamma gaps keep their draws when the rate has a profile", "[workloads]") {
  const ArrivalOptions gamma{
      .process = ArrivalProcess::gamma, .rate_per_s = 4.0, .burstiness = 0.3};
  CHECK(
      largest_difference(times(piecewise({.segments = {{3.0, 4.0}}, .repeat = true}, 0.3), 100'000),
                         times(gamma, 100'000)) <= 1);
}

TEST_CASE("a profile moves requests in time and leaves their draws", "[workloads]") {
  // Integrated rate at request k is the sum of k unit gaps: poisson's instant at 1 request/s.
  const std::vector<TimeNs> unit = poisson(1.0, 1000);
  // On periods of 2 s at 10/s, off periods of 3 s: 20 requests each 5 s.
  const auto burst =
      times(on_off(4.0, {.on_s = 2.0, .off_s = 3.0, .periods = PeriodLaw::fixed}), 1000);
  for (std::size_t k = 0; k < unit.size(); ++k) {
    const double t = static_cast<double>(burst[k]) * 1e-9;
    const double cycles = std::floor(t / 5.0);
    const double integrated = cycles * 20.0 + (t - 5.0 * cycles) * 10.0;
    CHECK(std::abs(integrated - static_cast<double>(unit[k]) * 1e-9) < 2e-8);
  }
}

TEST_CASE("states stay when the rates change", "[workloads]") {
  // Every 1000 or 3000 requests/s make no gap above 0.1 s while the state is on (e^-100): the long
  // gaps are the off states, and begin and end within some requests of them.
  struct Silence {
    double begin_s, end_s;
  };
  const auto silences = [](double rate, std::uint64_t seed) {
    const auto all = times(mmpp({.rates_per_s = {rate, 0.0}, .sojourns_s = {1.0, 1.0}}),
                           static_cast<std::size_t>(rate * 200.0), seed);
    std::vector<Silence> found;
    for (std::size_t i = 1; i < all.size() && all[i] < 200'000'000'000; ++i) {
      if (all[i] - all[i - 1] < 100'000'000) continue;
      found.push_back({double(all[i - 1]) * 1e-9, double(all[i]) * 1e-9});
    }
    return found;
  };
  const std::vector<Silence> few = silences(1000.0, 1);
  const std::vector<Silence> many = silences(3000.0, 1);
  CHECK(few.size() > 50);  // of 100 cycles, nine tenths of the silences are that long
  // Not always of the same silence: an on state too short for a request at one rate has one at the
  // other.
  for (const Silence& s : few) {
    if (s.end_s - s.begin_s < 0.15) continue;
    CAPTURE(s.begin_s, s.end_s);
    CHECK(std::any_of(many.begin(), many.end(),
                      [&](const Silence& m) { return std::abs(m.begin_s - s.begin_s) < 0.03; }));
    CHECK(std::any_of(many.begin(), many.end(),
                      [&](const Silence& m) { return std::abs(m.end_s - s.end_s) < 0.03; }));
  }
  const std::vector<Silence> others = silences(1000.0, 2);
  CHECK(std::abs(others[0].begin_s - few[0].begin_s) > 0.03);
}

TEST_CASE("a copy of the arrivals goes on like the original", "[workloads]") {
  ArrivalTimes original(mmpp({.rates_per_s = {5.0, 50.0}, .sojourns_s = {1.0, 0.2}}), 1,
                        std::nullopt);
  std::vector<TimeNs> some(1000);
  original.fill(some);
  ArrivalTimes copy = original;
  std::vector<TimeNs> ours(1000);
  std::vector<TimeNs> theirs(1000);
  original.fill(ours);
  copy.fill(theirs);
  CHECK(ours == theirs);
  CHECK(ours.front() >= some.back());
}

TEST_CASE("weibull gaps of shape 1 are poisson's and of infinite shape constant", "[workloads]") {
  ArrivalOptions weibull{.process = ArrivalProcess::weibull, .rate_per_s = 3.0};
  CHECK(times(weibull, 1000) == poisson(3.0, 1000));
  weibull.weibull_shape = kInfinity;
  CHECK(times(weibull, 1000) ==
        times({.process = ArrivalProcess::constant, .rate_per_s = 3.0}, 1000));
}

TEST_CASE("a weibull gap is a function of poisson's gap", "[workloads]") {
  // E^(1/2) / Gamma(3/2) for the exponential E of the same draw; Gamma(3/2) = sqrt(pi) / 2.
  const std::vector<TimeNs> plain = poisson(1.0, 1000);
  ArrivalOptions options{.process = ArrivalProcess::weibull, .rate_per_s = 1.0};
  options.weibull_shape = 2.0;
  const std::vector<TimeNs> all = times(options, 1000);
  for (std::size_t i = 1; i < all.size(); ++i) {
    const double unit = static_cast<double>(plain[i] - plain[i - 1]) * 1e-9;
    const double gap = static_cast<double>(all[i] - all[i - 1]) * 1e-9;
    CHECK(gap == Approx(std::sqrt(unit) * 2.0 / std::sqrt(kTwoPi / 2.0)).epsilon(1e-4));
  }
}

TEST_CASE("the same seed gives the same changing rates, on every machine", "[workloads]") {
  const auto digest = [](const ArrivalOptions& options) {
    Digest d;
    for (const TimeNs time : times(options, 2000, 42)) d.add(time);
    return d.hex();
  };
  ArrivalOptions weibull{.process = ArrivalProcess::weibull, .rate_per_s = 10.0};
  weibull.weibull_shape = 0.6;
  CHECK(digest(weibull) == "4ed072cb1e1b3e9bb3669d3953a9e962");
  CHECK(digest(on_off(10.0, {.on_s = 2.0, .off_s = 5.0})) == "9d603ce7a5877324673a2f3e5ce84aa1");
  CHECK(digest(mmpp({.rates_per_s = {1.0, 30.0, 0.0}, .sojourns_s = {5.0, 1.0, 2.0}})) ==
        "9a2744db5951ceebcf43fdef62fdccb1");
  CHECK(digest(piecewise({.segments = {{60.0, 1.0}, {7.5, 20.0}}, .repeat = true}, 0.5)) ==
        "a6325cce9b77271ba70266f887b29448");
  CHECK(digest(diurnal({.amplitude = 0.8, .period_s = 700.0, .phase_s = 33.0}, 1.0)) ==
        "7b3dac2e853b22e56da34f9fc3078b07");
  ArrivalOptions wide = ramp(0.5, 20.0, 300.0, RampShape::linear);
  wide.burstiness = 1.0;
  CHECK(digest(wide) == "919934690ae81f82937d6148545c0674");
  wide.ramp.shape = RampShape::exponential;
  CHECK(digest(wide) == "c549a01f44354d9f2aa6096b074bb476");
}

namespace {

void refuses(const ArrivalOptions& options, const std::string& message) {
  CHECK_THROWS_MATCHES(ArrivalTimes(options, 1, 5), ConfigError,
                       Catch::Message("arrivals: " + message));
}

}  // namespace

TEST_CASE("shapes and on-off periods out of range are refused", "[workloads]") {
  ArrivalOptions weibull{.process = ArrivalProcess::weibull};
  for (const double shape : {0.05, -1.0, kNan}) {
    weibull.weibull_shape = shape;
    CHECK_THROWS_AS(ArrivalTimes(weibull, 1, 5), ConfigError);
  }
  weibull.weibull_shape = 0.0;
  refuses(weibull, "the shape is 0; allowed: 0.1 or more, infinity = equal gaps");
  refuses(on_off(0.0, {}),
          "the rate is 0 requests/s; allowed: above 0, at most 1000000000000 requests/s");
  refuses(on_off(kInfinity, {}),
          "the rate is inf requests/s; allowed: above 0, at most 1000000000000 requests/s");
  refuses(on_off(1.0, {.on_s = 0.0}), "on_s is 0 s; allowed: above 0, at most 1000000000 s");
  refuses(on_off(1.0, {.on_s = kNan}), "on_s is nan s; allowed: above 0, at most 1000000000 s");
  refuses(on_off(1.0, {.off_s = -1.0}), "off_s is -1 s; allowed: 0 .. 1000000000 s");
  refuses(on_off(1.0, {.off_s = kNan}), "off_s is nan s; allowed: 0 .. 1000000000 s");
  refuses(on_off(1e12, {}),
          "the rate in on periods is 2000000000000 requests/s; allowed: above 0,"
          " at most 1000000000000 requests/s");
}

TEST_CASE("states without requests, sizes that differ and bad transitions are refused",
          "[workloads]") {
  const std::vector<double> pair{1.0, 2.0};
  refuses(mmpp({}), "process mmpp has 0 rates; allowed: 2 .. 1000");
  refuses(mmpp({.rates_per_s = {1.0}, .sojourns_s = {1.0}}),
          "process mmpp has 1 rates; allowed: 2 .. 1000");
  refuses(mmpp({.rates_per_s = pair, .sojourns_s = {1.0}}),
          "process mmpp has 1 sojourns for 2 rates");
  refuses(mmpp({.rates_per_s = {1.0, -2.0}, .sojourns_s = pair}),
          "the rate of a state is -2 requests/s; allowed: 0 .. 1000000000000 requests/s");
  refuses(mmpp({.rates_per_s = {1.0, kNan}, .sojourns_s = pair}),
          "the rate of a state is nan requests/s; allowed: 0 .. 1000000000000 requests/s");
  refuses(mmpp({.rates_per_s = pair, .sojourns_s = {1.0, 0.0}}),
          "the sojourn of a state is 0 s; allowed: above 0, at most 1000000000 s");
  refuses(mmpp({.rates_per_s = {0.0, 0.0}, .sojourns_s = pair}), "the rates of all states are 0");
  refuses(mmpp({.rates_per_s = pair, .sojourns_s = pair, .transitions = {0.0, 1.0, 1.0}}),
          "3 transitions for 2 states; allowed: none or 4");
  refuses(mmpp({.rates_per_s = pair, .sojourns_s = pair, .transitions = {0.5, 0.5, 1.0, 0.0}}),
          "a transition's probability is 0.5; allowed: 0 .. 0");
  refuses(mmpp({.rates_per_s = pair, .sojourns_s = pair, .transitions = {0.0, kNan, 1.0, 0.0}}),
          "a transition's probability is nan; allowed: 0 .. 1");
  refuses(mmpp({.rates_per_s = pair, .sojourns_s = pair, .transitions = {0.0, 1.0, 0.5, 0.0}}),
          "the transitions from state 1 sum to 0.5; allowed: 1");
  // From state 0 into the silent pair 1, 2, and never back.
  MmppOptions trap{.rates_per_s = {5.0, 0.0, 0.0}, .sojourns_s = {1.0, 1.0, 1.0}};
  trap.transitions = {0, 1, 0, 0, 0, 1, 0, 1, 0};
  refuses(mmpp(trap), "state 1 never reaches a state with a rate above 0");
  // A silent pair that is never entered does no harm.
  MmppOptions apart{.rates_per_s = {5.0, 6.0, 0.0, 0.0}, .sojourns_s = {1, 1, 1, 1}};
  apart.transitions = {0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0};
  CHECK(times(mmpp(apart), 10).back() < kNever);
}

TEST_CASE("profiles without requests and values out of range are refused", "[workloads]") {
  refuses(piecewise({}), "process piecewise needs segments");
  refuses(piecewise({.segments = {{1.0, 0.0}, {2.0, 0.0}}}), "the rates of all segments are 0");
  refuses(piecewise({.segments = {{1.0, 0.0}}, .repeat = true}), "the rates of all segments are 0");
  refuses(piecewise({.segments = {{0.0, 1.0}}}),
          "the duration of a segment is 0 s; allowed: above 0, at most 1000000000 s");
  refuses(piecewise({.segments = {{kInfinity, 1.0}}}),
          "the duration of a segment is inf s; allowed: above 0, at most 1000000000 s");
  refuses(piecewise({.segments = {{1.0, -1.0}}}),
          "the rate of a segment is -1 requests/s; allowed: 0 .. 1000000000000 requests/s");
  refuses(piecewise({.segments = {{1.0, 1.0}}, .tail_rate_per_s = kNan}),
          "tail_rate_per_s is nan requests/s; allowed: 0 .. 1000000000000 requests/s");
  refuses(piecewise({.segments = {{1.0, 1.0}}, .repeat = true, .tail_rate_per_s = 1.0}),
          "segments that repeat leave no time for tail_rate_per_s");
  refuses(piecewise({.segments = {{1.0, 1.0}}}, 0.0),
          "the burstiness is 0; allowed: greater than 0, infinity = equal gaps");
  refuses(diurnal({.amplitude = 1.5}), "amplitude is 1.5; allowed: 0 .. 1");
  refuses(diurnal({.amplitude = kNan}), "amplitude is nan; allowed: 0 .. 1");
  refuses(diurnal({.period_s = 0.0}), "period_s is 0 s; allowed: above 0, at most 1000000000 s");
  refuses(diurnal({.period_s = 10.0, .phase_s = 11.0}), "phase_s is 11 s; allowed: -10 .. 10 s");
  refuses(ramp(0.0, 0.0, 1.0, RampShape::linear), "both rates of the ramp are 0");
  refuses(ramp(0.0, 1.0, 1.0, RampShape::exponential),
          "the rate is 0 requests/s; allowed: 1e-12 .. 1000000000000 requests/s");
  refuses(ramp(1.0, -1.0, 1.0, RampShape::linear),
          "end_rate_per_s is -1 requests/s; allowed: 0 .. 1000000000000 requests/s");
  refuses(ramp(1.0, 2.0, 0.0, RampShape::linear),
          "ramp_s is 0 s; allowed: above 0, at most 1000000000 s");
}

TEST_CASE("a rate too low to reach a request is refused, not searched for ever", "[workloads]") {
  CHECK_THROWS_MATCHES(
      times(piecewise({.segments = {{1e-9, 1e-12}}, .repeat = true}), 1), ConfigError,
      Catch::Message("arrivals: the rate changes 10000000 times without a request"));
  CHECK_THROWS_MATCHES(
      times(ramp(1.0, 1e-11, 1.0, RampShape::linear), 10), ConfigError,
      Catch::Message("arrivals: a request would arrive after more than 146 years (2^62 ns)"));
}

}  // namespace headroom::arrival_processes_test
