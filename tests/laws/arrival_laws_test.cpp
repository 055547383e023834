// Arrival processes against their laws, each also against a wrong parameter that must be refused.
// Gaps by Kolmogorov and Smirnov, counts per bin by chi-square (both at the level 0.001), moments
// within four standard errors.

#include <boost/math/special_functions/gamma.hpp>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "tests/laws/statistics.hpp"
#include "workloads/arrivals.hpp"

namespace headroom::laws::arrival_laws_test {
namespace {

constexpr double kTwoPi = 6.283185307179586;

// Seconds of all requests before `end_s`.
std::vector<double> seconds(const ArrivalOptions& options, double end_s, std::uint64_t seed = 1) {
  ArrivalTimes arrivals(options, seed, std::nullopt);
  std::vector<double> all;
  std::vector<TimeNs> batch(256);
  while (true) {
    arrivals.fill(batch);
    for (const TimeNs time : batch) {
      const double at_s = static_cast<double>(time) * 1e-9;
      if (at_s >= end_s) return all;
      all.push_back(at_s);
    }
  }
}

// Requests in each window of `window_s` seconds up to `end_s`.
std::vector<double> counts(const std::vector<double>& all, double window_s, double end_s) {
  std::vector<double> windows(static_cast<std::size_t>(end_s / window_s + 0.5), 0.0);
  for (const double at_s : all) {
    const auto window = static_cast<std::size_t>(at_s / window_s);
    if (window < windows.size()) windows[window] += 1.0;
  }
  return windows;
}

// Requests of all cycles together, by their place in the cycle.
std::vector<double> folded(const std::vector<double>& all, double cycle_s, std::size_t bins) {
  std::vector<double> sums(bins, 0.0);
  for (const double at_s : all) {
    const double place = at_s / cycle_s - std::floor(at_s / cycle_s);
    sums[std::min(static_cast<std::size_t>(place * static_cast<double>(bins)), bins - 1)] += 1.0;
  }
  return sums;
}

// Differences of `integral` (requests expected up to a time) between the ends of equal bins.
std::vector<double> expected_counts(double end_s, std::size_t bins, double factor,
                                    const std::function<double(double)>& integral) {
  std::vector<double> expected;
  const double bin_s = end_s / static_cast<double>(bins);
  for (std::size_t i = 0; i < bins; ++i) {
    const auto place = static_cast<double>(i);
    expected.push_back(factor * (integral((place + 1.0) * bin_s) - integral(place * bin_s)));
  }
  return expected;
}

bool agree(const std::vector<double>& observed, const std::vector<double>& expected) {
  return chi_square(observed, expected) < chi_square_critical(observed.size());
}

// Are counts in windows Poisson with this mean? Sum of (n - m)^2 / m, 1 a window: it sees a wrong
// dispersion, and a mean that is too low.
bool are_poisson(const std::vector<double>& windows, double mean_count) {
  return agree(windows, std::vector<double>(windows.size(), mean_count));
}

// --- weibull ------------------------------------------------------------------------------------

std::vector<double> weibull_gaps(double shape) {
  ArrivalOptions options{.process = ArrivalProcess::weibull, .rate_per_s = 2.0};
  options.weibull_shape = shape;
  std::vector<double> gaps = seconds(options, 50'000.0);
  for (std::size_t i = gaps.size() - 1; i > 0; --i) gaps[i] -= gaps[i - 1];
  gaps.resize(90'000);  // none that the end has chosen
  return gaps;
}

TEST_CASE("law: weibull gaps follow their distribution") {
  for (const double shape : {0.5, 2.0}) {
    // 1 - exp(-(x / scale)^shape) with scale = 1 / (rate * Gamma(1 + 1/shape)).
    const auto law = [](double k) {
      const double scale = 0.5 / std::tgamma(1.0 + 1.0 / k);
      return [k, scale](double x) { return -std::expm1(-std::pow(x / scale, k)); };
    };
    const std::vector<double> gaps = weibull_gaps(shape);
    CAPTURE(shape);
    CHECK(kolmogorov(gaps, law(shape)) < kKolmogorovCritical);
    CHECK(kolmogorov(gaps, law(1.05 * shape)) > kKolmogorovCritical);
  }
}

TEST_CASE("law: weibull gaps have mean 1/rate and the variation of their shape") {
  for (const double shape : {0.5, 2.0}) {
    // Squared variation: Gamma(1 + 2/k) / Gamma(1 + 1/k)^2 - 1: 5 and 0.2732.
    const double up = std::tgamma(1.0 + 2.0 / shape);
    const double down = std::tgamma(1.0 + 1.0 / shape);
    const std::vector<double> gaps = weibull_gaps(shape);
    const MeanEstimate gap = estimate(gaps);
    const MeanEstimate variation = estimate(gaps, 30, squared_variation);
    CAPTURE(shape, variation.mean);
    CHECK(gap.agrees_with(0.5));
    CHECK_FALSE(gap.agrees_with(0.5 * 1.05));
    CHECK(variation.agrees_with(up / (down * down) - 1.0));
    CHECK_FALSE(variation.agrees_with(1.0));  // poisson
  }
}

// --- on and off ---------------------------------------------------------------------------------

// Variance over mean of the counts in windows of t seconds, for a Poisson process whose rate
// switches between two values: with D = (a - b)^2 p q and r = 1/s_a + 1/s_b,
// 1 + 2 D / (mean r) (1 - (1 - e^(-r t)) / (r t)). (The covariance of the rate is D e^(-r t).)
double dispersion_of_two(double a, double b, double s_a, double s_b, double t) {
  const double p = s_a / (s_a + s_b);
  const double mean_rate = p * a + (1.0 - p) * b;
  const double covariance = (a - b) * (a - b) * p * (1.0 - p);
  const double r = 1.0 / s_a + 1.0 / s_b;
  return 1.0 + 2.0 * covariance / (mean_rate * r) * (1.0 + std::expm1(-r * t) / (r * t));
}

ArrivalOptions on_off(double on_s, double off_s, PeriodLaw law) {
  ArrivalOptions options{.process = ArrivalProcess::on_off, .rate_per_s = 4.0};
  options.on_off = {.on_s = on_s, .off_s = off_s, .periods = law};
  return options;
}

TEST_CASE("law: random on-off traffic has its mean rate and the dispersion of two states") {
  // On 1 s at 4 * 4 / 1 = 16 requests/s, off 3 s.
  const double end_s = 200'000.0;
  const auto all = seconds(on_off(1.0, 3.0, PeriodLaw::exponential), end_s);
  const MeanEstimate rate = estimate(counts(all, 100.0, end_s));
  CHECK(rate.agrees_with(400.0));
  CHECK_FALSE(rate.agrees_with(1600.0));  // the rate of the on periods
  CHECK_FALSE(rate.agrees_with(420.0));
  for (const double t : {0.2, 2.0, 20.0}) {
    const MeanEstimate measured = estimate(counts(all, t, end_s), 50, dispersion);
    CAPTURE(t, measured.mean, measured.standard_error);
    CHECK(measured.agrees_with(dispersion_of_two(16.0, 0.0, 1.0, 3.0, t)));
    CHECK_FALSE(measured.agrees_with(dispersion_of_two(16.0, 0.0, 1.3, 3.9, t)));
    CHECK_FALSE(measured.agrees_with(1.0));  // poisson
  }
}

TEST_CASE("law: fixed periods are silent when off and Poisson when on") {
  // 2 s at 4 * 5 / 2 = 10 requests/s, then 3 s of nothing: windows of 1 s, five a cycle.
  const double end_s = 25'000.0;
  const auto windows = counts(seconds(on_off(2.0, 3.0, PeriodLaw::fixed), end_s), 1.0, end_s);
  std::vector<double> on;
  std::vector<double> off;
  for (std::size_t i = 0; i < windows.size(); ++i) (i % 5 < 2 ? on : off).push_back(windows[i]);
  CHECK(mean(off) == 0.0);
  CHECK(are_poisson(on, 10.0));
  CHECK_FALSE(are_poisson(on, 9.0));  // (10 + 1^2) / 9 = 1.2 a window
  CHECK_FALSE(are_poisson(windows, 4.0));
}

// --- Markov-modulated ---------------------------------------------------------------------------

ArrivalOptions mmpp(MmppOptions states) {
  ArrivalOptions options{.process = ArrivalProcess::mmpp};
  options.mmpp = std::move(states);
  return options;
}

TEST_CASE("law: two states have the mean rate and the dispersion of counts of their closed form") {
  // (20 * 1 + 2 * 4) / 5 = 5.6 requests/s.
  const double end_s = 200'000.0;
  const auto all = seconds(mmpp({.rates_per_s = {20.0, 2.0}, .sojourns_s = {1.0, 4.0}}), end_s);
  const MeanEstimate rate = estimate(counts(all, 200.0, end_s));
  CHECK(rate.agrees_with(1120.0));
  CHECK_FALSE(rate.agrees_with(200.0 * 11.0));  // the plain mean of the two rates
  for (const double t : {0.5, 5.0, 50.0}) {
    const MeanEstimate measured = estimate(counts(all, t, end_s), 50, dispersion);
    CAPTURE(t, measured.mean, measured.standard_error);
    CHECK(measured.agrees_with(dispersion_of_two(20.0, 2.0, 1.0, 4.0, t)));
    CHECK_FALSE(measured.agrees_with(dispersion_of_two(20.0, 2.0, 1.5, 6.0, t)));
    CHECK_FALSE(measured.agrees_with(1.0));
  }
}

TEST_CASE("law: transitions decide how often each of three states is visited") {
  const double end_s = 400'000.0;
  MmppOptions states{.rates_per_s = {30.0, 3.0, 0.0}, .sojourns_s = {1.0, 2.0, 3.0}};
  const auto rate = [&] { return estimate(counts(seconds(mmpp(states), end_s), 400.0, end_s)); };
  // Any other state next: each is visited equally often, (30 * 1 + 3 * 2) / (1 + 2 + 3) = 6.
  const MeanEstimate any = rate();
  CHECK(any.agrees_with(400.0 * 6.0));
  // 0 to 1, 1 to 0 or 2, 2 to 1: half of the visits are to 1. (30/4 + 6/2) / (1/4 + 1 + 3/4)
  // = 5.25.
  states.transitions = {0.0, 1.0, 0.0, 0.5, 0.0, 0.5, 0.0, 1.0, 0.0};
  const MeanEstimate chain = rate();
  CHECK(chain.agrees_with(400.0 * 5.25));
  CHECK_FALSE(any.agrees_with(400.0 * 5.25));
  CHECK_FALSE(chain.agrees_with(400.0 * 6.0));
}

// --- rate profiles ------------------------------------------------------------------------------

TEST_CASE("law: requests of a piecewise rate are Poisson with the rate of each segment") {
  ArrivalOptions options{.process = ArrivalProcess::piecewise};
  options.piecewise = {.segments = {{10.0, 1.0}, {5.0, 20.0}, {5.0, 0.0}, {20.0, 4.0}},
                       .repeat = true};
  const double cycles = 500.0;
  const auto observed = folded(seconds(options, cycles * 40.0), 40.0, 40);
  const auto expected = [&](double second_rate) {
    std::vector<double> bins(40, cycles * 4.0);
    for (std::size_t i = 0; i < 20; ++i) {
      bins[i] = cycles * (i < 10 ? 1.0 : i < 15 ? second_rate : 0.0);
    }
    return bins;
  };
  CHECK(agree(observed, expected(20.0)));
  CHECK_FALSE(agree(observed, expected(21.0)));
  // Window by window, in the segment of 20 requests/s.
  const auto windows = counts(seconds(options, cycles * 40.0), 5.0, cycles * 40.0);
  std::vector<double> second;
  for (std::size_t i = 2; i < windows.size(); i += 8) second.push_back(windows[i]);
  CHECK(are_poisson(second, 100.0));
  CHECK_FALSE(are_poisson(second, 92.0));  // (100 + 8^2) / 92 = 1.8 a window
}

TEST_CASE("law: burstiness sets the variation of counts under a profile, not its mean") {
  // Renewal process in integrated rate: dispersion of counts in long windows is 1/burstiness.
  ArrivalOptions options{.process = ArrivalProcess::piecewise, .burstiness = 0.25};
  options.piecewise = {.segments = {{10.0, 30.0}, {10.0, 10.0}}, .repeat = true};
  const double end_s = 100'000.0;
  const auto windows = counts(seconds(options, end_s), 20.0, end_s);
  CHECK(estimate(windows).agrees_with(400.0));
  const MeanEstimate measured = estimate(windows, 50, dispersion);
  CAPTURE(measured.mean, measured.standard_error);
  CHECK(measured.agrees_with(4.0));
  CHECK_FALSE(measured.agrees_with(1.0));
}

TEST_CASE("law: requests of a diurnal rate follow the sine") {
  ArrivalOptions options{.process = ArrivalProcess::diurnal, .rate_per_s = 0.5};
  options.diurnal = {.amplitude = 0.6, .phase_s = 21'600.0};
  const double day_s = 86'400.0;
  const double days = 20.0;
  const auto observed = folded(seconds(options, days * day_s), day_s, 48);
  // t - A P / (2 pi) cos(2 pi (t - phase) / P), times the mean.
  const auto expected = [&](double amplitude, double phase_s) {
    return expected_counts(day_s, 48, days * 0.5, [=](double t) {
      return t - amplitude * day_s / kTwoPi * std::cos(kTwoPi * (t - phase_s) / day_s);
    });
  };
  CHECK(agree(observed, expected(0.6, 21'600.0)));
  CHECK_FALSE(agree(observed, expected(0.57, 21'600.0)));
  CHECK_FALSE(agree(observed, expected(0.6, 20'600.0)));
}

// Counts of 200 runs in 20 bins of the ramp and 4 after it.
std::vector<double> ramp_counts(double start, double end, RampShape shape) {
  ArrivalOptions options{.process = ArrivalProcess::ramp, .rate_per_s = start};
  options.ramp = {.end_rate_per_s = end, .ramp_s = 100.0, .shape = shape};
  std::vector<double> sums(24, 0.0);
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const auto run = counts(seconds(options, 120.0, seed), 5.0, 120.0);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += run[i];
  }
  return sums;
}

std::vector<double> ramp_expected(double start, double end, RampShape shape) {
  return expected_counts(120.0, 24, 200.0, [=](double t) {
    const double x = std::min(t, 100.0);
    const double after = end * (t - x);
    if (shape == RampShape::linear) return start * x + (end - start) * x * x / 200.0 + after;
    const double growth = std::log(end / start) / 100.0;
    return start * std::expm1(growth * x) / growth + after;
  });
}

TEST_CASE("law: requests of a ramp follow its rate, up and down") {
  for (const auto& [start, end] : {std::pair{1.0, 10.0}, {10.0, 1.0}}) {
    for (const RampShape shape : {RampShape::linear, RampShape::exponential}) {
      const auto observed = ramp_counts(start, end, shape);
      const bool linear = shape == RampShape::linear;
      CAPTURE(start, end, linear);
      CHECK(agree(observed, ramp_expected(start, end, shape)));
      CHECK_FALSE(agree(observed, ramp_expected(start, 1.2 * end, shape)));
      const RampShape other = linear ? RampShape::exponential : RampShape::linear;
      CHECK_FALSE(agree(observed, ramp_expected(start, end, other)));
    }
  }
}

}  // namespace
}  // namespace headroom::laws::arrival_laws_test
