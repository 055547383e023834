// Length laws against their distributions, each also against a wrong parameter that must be
// refused. Kolmogorov and Smirnov, or chi-square, at the level 0.001; moments within four standard
// errors.

#include <boost/math/special_functions/gamma.hpp>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "tests/laws/statistics.hpp"
#include "tests/support/paired_lengths.hpp"
#include "workloads/lengths.hpp"
#include "workloads/synthetic_source.hpp"

namespace headroom::laws::length_laws_test {
namespace {

constexpr std::size_t kLengths = 100'000;

std::vector<std::int32_t> lengths(const LengthOptions& options) {
  LengthSampler sampler(options, 1, "lengths/output");
  std::vector<std::int32_t> all(kLengths);
  sampler.fill(all);
  return all;
}

std::vector<double> real(const std::vector<std::int32_t>& all) { return {all.begin(), all.end()}; }

LengthOptions normal(double mean, double stddev) {
  LengthOptions options{.law = LengthLaw::normal, .mean = mean};
  options.stddev = stddev;
  return options;
}

LengthOptions gamma(double mean, double shape) {
  LengthOptions options{.law = LengthLaw::gamma, .mean = mean};
  options.shape = shape;
  return options;
}

// A law of whole tokens from one of real numbers: k stands for what rounds to it, 1 also for less.
Distribution rounded(const Distribution& law) {
  return [law](double k) { return k < 1.0 ? 0.0 : law(k + 0.5); };
}

Distribution gamma_law(double mean, double shape) {
  return rounded([=](double x) { return boost::math::gamma_p(shape, x * shape / mean); });
}

TEST_CASE("law: normal lengths follow their distribution") {
  const auto law = [](double mean, double stddev) {
    return rounded([=](double x) { return std::erfc((mean - x) / stddev / std::sqrt(2.0)) / 2.0; });
  };
  const auto all = lengths(normal(1000.0, 200.0));
  CHECK(kolmogorov(all, law(1000.0, 200.0)) < kKolmogorovCritical);
  CHECK(kolmogorov(all, law(1000.0, 206.0)) > kKolmogorovCritical);
  CHECK(kolmogorov(all, law(1005.0, 200.0)) > kKolmogorovCritical);
  CHECK(estimate(real(all)).agrees_with(1000.0));
  // Rounding adds 1/12 to the variance.
  const MeanEstimate spread = estimate(real(all), 50, variance);
  CHECK(spread.agrees_with(40'000.1));
  CHECK_FALSE(spread.agrees_with(206.0 * 206.0));
}

TEST_CASE("law: gamma lengths follow their distribution") {
  for (const double shape : {0.3, 1.0, 6.0}) {
    const auto all = lengths(gamma(2000.0, shape));
    CAPTURE(shape);
    CHECK(kolmogorov(all, gamma_law(2000.0, shape)) < kKolmogorovCritical);
    CHECK(kolmogorov(all, gamma_law(2000.0, 1.05 * shape)) > kKolmogorovCritical);
    CHECK(kolmogorov(all, gamma_law(2100.0, shape)) > kKolmogorovCritical);
    // The floor of one token adds below 0.1 tokens to the mean of shape 0.3.
    CHECK(estimate(real(all)).agrees_with(2000.0));
    const MeanEstimate variation = estimate(real(all), 50, squared_variation);
    CHECK(variation.agrees_with(1.0 / shape));
    CHECK_FALSE(variation.agrees_with(1.2 / shape));
  }
}

TEST_CASE("law: exponential lengths follow their distribution") {
  const auto all = lengths({.law = LengthLaw::exponential, .mean = 500.0});
  CHECK(kolmogorov(all, gamma_law(500.0, 1.0)) < kKolmogorovCritical);
  CHECK(kolmogorov(all, gamma_law(510.0, 1.0)) > kKolmogorovCritical);
  CHECK(estimate(real(all)).agrees_with(500.0));
  CHECK(estimate(real(all), 50, squared_variation).agrees_with(1.0));
}

TEST_CASE("law: geometric lengths have the probabilities of their law") {
  // P(k) = (1 - p)^(k - 1) p with p = 1 / mean; the last bin holds all above 20.
  const auto all = lengths({.law = LengthLaw::geometric, .mean = 5.0});
  std::vector<double> observed(21, 0.0);
  for (const std::int32_t tokens : all) {
    observed[static_cast<std::size_t>(std::min(tokens, 21)) - 1] += 1.0;
  }
  const auto expected = [](double mean_length) {
    std::vector<double> bins;
    auto left = static_cast<double>(kLengths);
    for (int k = 1; k <= 20; ++k) {
      bins.push_back(left / mean_length);
      left -= left / mean_length;
    }
    bins.push_back(left);
    return bins;
  };
  CHECK(chi_square(observed, expected(5.0)) < chi_square_critical(20));
  CHECK(chi_square(observed, expected(5.1)) > chi_square_critical(20));
  CHECK(estimate(real(all)).agrees_with(5.0));
  CHECK(estimate(real(all), 50, variance).agrees_with(20.0));        // (1 - p) / p^2
  CHECK_FALSE(estimate(real(all), 50, variance).agrees_with(25.0));  // of the exponential law
}

TEST_CASE("law: zipf lengths have the probabilities of their law") {
  for (const auto& [min, max] : {std::pair{1, 30}, {16, 65}}) {
    LengthOptions options{.law = LengthLaw::zipf, .min = min, .max = max};
    options.exponent = 1.2;
    std::vector<double> observed(static_cast<std::size_t>(max - min) + 1, 0.0);
    for (const std::int32_t tokens : lengths(options)) {
      observed[static_cast<std::size_t>(tokens - min)] += 1.0;
    }
    const auto expected = [low = min, high = max](double exponent) {
      std::vector<double> bins;
      double sum = 0.0;
      for (int k = low; k <= high; ++k) {
        bins.push_back(std::pow(k, -exponent));
        sum += bins.back();
      }
      for (double& bin : bins) bin *= static_cast<double>(kLengths) / sum;
      return bins;
    };
    CAPTURE(min);
    const double critical = chi_square_critical(observed.size() - 1);
    CHECK(chi_square(observed, expected(1.2)) < critical);
    CHECK(chi_square(observed, expected(1.25)) > critical);
  }
}

// --- pairs --------------------------------------------------------------------------------------

struct Pairs {
  std::vector<std::int32_t> prompts;
  std::vector<std::int32_t> outputs;
};

Pairs pairs(const LengthOptions& prompt, const LengthOptions& output, double correlation) {
  PairedLengths sampler(prompt, output, correlation, 1);
  Pairs drawn{std::vector<std::int32_t>(kLengths), std::vector<std::int32_t>(kLengths)};
  sampler.fill(drawn.prompts, drawn.outputs);
  return drawn;
}

TEST_CASE("law: correlated lengths have the rank correlation of a Gaussian copula") {
  // 6 / pi asin(rho / 2), standard error of n pairs at most 1 / sqrt(n).
  const double error = 1.0 / std::sqrt(static_cast<double>(kLengths));
  const auto expected = [](double rho) { return 6.0 / std::acos(-1.0) * std::asin(rho / 2.0); };
  for (const double rho : {-0.5, 0.0, 0.3, 0.8}) {
    const Pairs drawn = pairs(gamma(1000.0, 2.0), normal(400.0, 100.0), rho);
    const double measured = rank_correlation(drawn.prompts, drawn.outputs);
    CAPTURE(rho, measured);
    CHECK(std::abs(measured - expected(rho)) < 4.0 * error);
    CHECK_FALSE(std::abs(measured - expected(rho + 0.05)) < 4.0 * error);
  }
}

TEST_CASE("law: correlation leaves both laws of the lengths") {
  for (const double rho : {-0.9, 0.4, 1.0}) {
    const Pairs drawn = pairs(gamma(1000.0, 2.0), gamma(300.0, 0.8), rho);
    CAPTURE(rho);
    CHECK(kolmogorov(drawn.prompts, gamma_law(1000.0, 2.0)) < kKolmogorovCritical);
    CHECK(kolmogorov(drawn.outputs, gamma_law(300.0, 0.8)) < kKolmogorovCritical);
    CHECK(kolmogorov(drawn.outputs, gamma_law(309.0, 0.8)) > kKolmogorovCritical);
  }
}

// --- one stream for each variable ---------------------------------------------------------------

struct Columns {
  std::vector<TimeNs> times;
  std::vector<std::int32_t> prompts;
  std::vector<std::int32_t> outputs;
};

Columns columns(SyntheticOptions options) {
  options.num_requests = 600;
  SyntheticSource source(options, 7);
  Columns all;
  while (source.next_time() != kNever) {
    const Arrival arrival = source.take();
    all.times.push_back(arrival.time_ns);
    all.prompts.push_back(arrival.prompt_tokens);
    all.outputs.push_back(arrival.output_tokens);
  }
  return all;
}

TEST_CASE("law: changing a length law changes no arrival, changing arrivals changes no length") {
  SyntheticOptions options;
  options.arrivals.process = ArrivalProcess::mmpp;
  options.arrivals.mmpp = {.rates_per_s = {1.0, 20.0}, .sojourns_s = {10.0, 2.0}};
  options.prompt = gamma(800.0, 0.7);
  options.output = {.law = LengthLaw::geometric, .mean = 200.0};
  const Columns base = columns(options);
  SyntheticOptions lengths_changed = options;
  lengths_changed.prompt = normal(800.0, 50.0);
  lengths_changed.output = {.law = LengthLaw::zipf, .min = 1, .max = 500};
  const Columns other_lengths = columns(lengths_changed);
  CHECK(other_lengths.times == base.times);
  CHECK(other_lengths.prompts != base.prompts);
  CHECK(other_lengths.outputs != base.outputs);
  for (const ArrivalProcess process :
       {ArrivalProcess::weibull, ArrivalProcess::on_off, ArrivalProcess::diurnal}) {
    SyntheticOptions arrivals_changed = options;
    arrivals_changed.arrivals.process = process;
    const Columns other_arrivals = columns(arrivals_changed);
    CHECK(other_arrivals.times != base.times);
    CHECK(other_arrivals.prompts == base.prompts);
    CHECK(other_arrivals.outputs == base.outputs);
  }
}

TEST_CASE("law: a workload whose rate ends has ended") {
  // 3 requests/s for 100 s with equal gaps: 300 requests of the 600 asked for.
  SyntheticOptions options;
  options.arrivals = {.process = ArrivalProcess::piecewise, .burstiness = INFINITY};
  options.arrivals.piecewise = {.segments = {{100.0, 3.0}}};
  CHECK(columns(options).times.size() == 300);
  options.arrivals.piecewise.tail_rate_per_s = 1.0;
  CHECK(columns(options).times.size() == 600);
}

}  // namespace
}  // namespace headroom::laws::length_laws_test
