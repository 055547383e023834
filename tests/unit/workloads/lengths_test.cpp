#include "workloads/lengths.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "sim/kernel/digest.hpp"
#include "sim/kernel/errors.hpp"
#include "workloads/normal_quantile.hpp"

namespace headroom::lengths_test {
namespace {

std::vector<std::int32_t> lengths(const LengthOptions& options, std::size_t count,
                                  std::uint64_t seed = 1) {
  LengthSampler sampler(options, seed, "lengths/prompt");
  std::vector<std::int32_t> all(count);
  sampler.fill(all);
  return all;
}

double mean(const std::vector<std::int32_t>& all) {
  double sum = 0.0;
  for (const std::int32_t tokens : all) sum += tokens;
  return sum / static_cast<double>(all.size());
}

// Share of `all` that is at most `tokens`.
double share_up_to(const std::vector<std::int32_t>& all, double tokens) {
  const auto below =
      std::count_if(all.begin(), all.end(), [&](std::int32_t x) { return x <= tokens; });
  return static_cast<double>(below) / static_cast<double>(all.size());
}

LengthOptions lognormal(double median, double sigma) {
  LengthOptions options{.law = LengthLaw::lognormal};
  options.median = median;
  options.sigma = sigma;
  return options;
}

}  // namespace

TEST_CASE("fixed lengths are all the same", "[workloads]") {
  CHECK(lengths({.law = LengthLaw::fixed, .tokens = 77}, 3) == std::vector<std::int32_t>(3, 77));
}

TEST_CASE("uniform lengths reach both bounds and nothing else, equally often", "[workloads]") {
  const auto all = lengths({.law = LengthLaw::uniform, .min = 3, .max = 6}, 100'000);
  for (std::int32_t tokens = 3; tokens <= 6; ++tokens) {
    const auto count = static_cast<double>(std::count(all.begin(), all.end(), tokens));
    CHECK(std::abs(count - 25'000.0) < 4 * std::sqrt(1e5 * 0.25 * 0.75));
  }
  CHECK(*std::min_element(all.begin(), all.end()) == 3);
  CHECK(*std::max_element(all.begin(), all.end()) == 6);
}

TEST_CASE("lognormal lengths have the quantiles of their law", "[workloads]") {
  // Quantile p is median * exp(sigma * z_p): z = 1.281552 (p90), 2.326348 (p99). The share below a
  // length is off by at most half a token of rounding, far below 4 standard errors.
  const auto all = lengths(lognormal(1020.0, 0.77), 100'000);
  for (const auto& [p, z] : {std::pair{0.01, -2.326348},
                             {0.1, -1.281552},
                             {0.5, 0.0},
                             {0.9, 1.281552},
                             {0.99, 2.326348}}) {
    CAPTURE(p);
    const double share = share_up_to(all, 1020.0 * std::exp(0.77 * z));
    CHECK(std::abs(share - p) < 4 * std::sqrt(p * (1 - p) / 1e5) + 0.0005);
  }
}

TEST_CASE("a lognormal law given by its mean has that mean", "[workloads]") {
  LengthOptions options{.law = LengthLaw::lognormal, .mean = 500.0, .sigma = 0.5};
  // Standard deviation of the law: mean * sqrt(exp(sigma^2) - 1) = 266.5.
  CHECK(std::abs(mean(lengths(options, 100'000)) - 500.0) < 4 * 266.5 / std::sqrt(1e5));
}

TEST_CASE("lognormal lengths are clamped to their bounds", "[workloads]") {
  LengthOptions options = lognormal(100.0, 2.5);
  options.min = 50;
  options.max = 200;
  const auto all = lengths(options, 10'000);
  // P(length < 50) = Phi(ln(0.5) / 2.5) = Phi(-0.27726) = 0.39079; half a token more rounds to 50.
  CHECK(std::abs(share_up_to(all, 50.0) - 0.3916) < 4 * std::sqrt(0.39 * 0.61 / 1e4));
  CHECK(*std::min_element(all.begin(), all.end()) == 50);
  CHECK(*std::max_element(all.begin(), all.end()) == 200);
}

TEST_CASE("the widest lognormal law stays within the range of lengths", "[workloads]") {
  const auto all = lengths(lognormal(1000.0, 10.0), 10'000);
  CHECK(*std::min_element(all.begin(), all.end()) == 1);
  CHECK(*std::max_element(all.begin(), all.end()) == INT32_MAX);
}

TEST_CASE("empirical lengths follow their weights", "[workloads]") {
  const LengthOptions options{
      .law = LengthLaw::empirical, .values = {10, 20, 30}, .weights = {1, 0, 3}};
  const auto all = lengths(options, 100'000);
  CHECK(std::count(all.begin(), all.end(), 20) == 0);
  CHECK(std::abs(share_up_to(all, 10) - 0.25) < 4 * std::sqrt(0.25 * 0.75 / 1e5));
  const auto equal = lengths({.law = LengthLaw::empirical, .values = {5, 6}}, 100'000);
  CHECK(std::abs(share_up_to(equal, 5) - 0.5) < 4 * std::sqrt(0.25 / 1e5));
}

TEST_CASE("a request keeps its quantile when the law changes", "[workloads]") {
  const auto narrow = lengths({.law = LengthLaw::uniform, .min = 1, .max = 100}, 1000);
  const auto wide = lengths(lognormal(1000.0, 1.0), 1000);
  // Request k is long under one law exactly if it is long under the other.
  for (std::size_t k = 0; k < narrow.size(); ++k) {
    CHECK((narrow[k] > 50) == (wide[k] > 1000 || (wide[k] == 1000 && narrow[k] > 50)));
  }
}

TEST_CASE("the normal quantile inverts the normal distribution function", "[workloads]") {
  for (double p = 1e-300; p < 0.5; p = p < 1e-3 ? p * 10 : p + 1e-3) {
    const double z = normal_quantile(p);
    // A relative error e of z is one of about z^2 e of the probability.
    const double error = std::erfc(-z / std::sqrt(2.0)) / 2 / p - 1;
    CAPTURE(p, z);
    CHECK(std::abs(error) < 1e-14 * (1 + z * z));
    if (p > 1e-3) CHECK(normal_quantile(1 - p) == Approx(-z).epsilon(1e-12));
  }
}

TEST_CASE("the fast lognormal quantile is exact to 1e-6", "[workloads]") {
  for (const double sigma : {0.0, 0.5, 2.0, 2.1}) {
    const LognormalQuantile quantile(1000.0, sigma);
    double worst = 0.0;
    for (int i = 1; i < 100'000; ++i) {
      const double p = i / 1e5;
      worst = std::max(worst, std::abs(quantile(p) / quantile.exact(p) - 1));
    }
    CAPTURE(sigma);
    CHECK(worst < 1e-6);
  }
}

TEST_CASE("the same seed gives the same lengths, on every machine", "[workloads]") {
  Digest d;
  for (const std::int32_t tokens : lengths(lognormal(1020.0, 0.77), 1000, 42)) d.add(tokens);
  for (const std::int32_t tokens : lengths(lognormal(1020.0, 3.0), 1000, 42)) d.add(tokens);
  CHECK(d.hex() == "163578bd6fa92643045cb19661a5ffea");
}

TEST_CASE("length options out of range are refused", "[workloads]") {
  const auto refuses = [](const LengthOptions& options, const char* message) {
    CHECK_THROWS_MATCHES(LengthSampler(options, 1, "lengths/output"), ConfigError,
                         Catch::Message(message));
  };
  refuses({.tokens = 0}, "lengths/output: tokens is 0; allowed: 1 .. 2147483647 tokens");
  refuses({.law = LengthLaw::uniform, .min = 5, .max = 4}, "lengths/output: min 5 is above max 4");
  refuses({.law = LengthLaw::uniform, .min = 0, .max = 4},
          "lengths/output: min is 0; allowed: 1 .. 2147483647 tokens");
  refuses({.law = LengthLaw::lognormal},
          "lengths/output: a lognormal law needs its median or its mean");
  refuses({.law = LengthLaw::lognormal, .median = 5.0, .mean = 6.0},
          "lengths/output: a lognormal law needs its median or its mean, not both");
  refuses(lognormal(0.0, 1.0),
          "lengths/output: median is 0; allowed: above 0, at most 2147483647 tokens");
  refuses(lognormal(5.0, -0.5), "lengths/output: sigma is -0.5; allowed: 0 .. 10");
  refuses({.law = LengthLaw::empirical}, "lengths/output: an empirical law needs values");
  refuses({.law = LengthLaw::empirical, .values = {1, 2}, .weights = {1}},
          "lengths/output: 1 weights for 2 values");
  refuses({.law = LengthLaw::empirical, .values = {1}, .weights = {0}},
          "lengths/output: all weights are 0");
  refuses({.law = LengthLaw::empirical, .values = {1}, .weights = {-1}},
          "lengths/output: a weight is -1; allowed: 0 .. 2147483647");
}

}  // namespace headroom::lengths_test
