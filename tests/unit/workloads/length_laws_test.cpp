// Length laws beyond fixed, uniform, lognormal and empirical: quantiles, bounds and refusals. Their
// statistics are in tests/laws/length_laws_test.cpp.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "sim/kernel/digest.hpp"
#include "sim/kernel/errors.hpp"
#include "workloads/length_laws/gamma_quantile.hpp"
#include "workloads/lengths.hpp"

namespace headroom::length_laws_test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

LengthSampler sampler(const LengthOptions& options, std::uint64_t seed = 1) {
  return {options, seed, "lengths/prompt"};
}

std::vector<std::int32_t> lengths(const LengthOptions& options, std::size_t count,
                                  std::uint64_t seed = 1) {
  LengthSampler drawn = sampler(options, seed);
  std::vector<std::int32_t> all(count);
  drawn.fill(all);
  return all;
}

LengthOptions of_mean(LengthLaw law, double mean) {
  LengthOptions options{.law = law};
  options.mean = mean;
  return options;
}

LengthOptions normal(double mean, double stddev) {
  LengthOptions options = of_mean(LengthLaw::normal, mean);
  options.stddev = stddev;
  return options;
}

LengthOptions gamma(double mean, double shape) {
  LengthOptions options = of_mean(LengthLaw::gamma, mean);
  options.shape = shape;
  return options;
}

LengthOptions zipf(std::int64_t min, std::int64_t max, double exponent) {
  LengthOptions options{.law = LengthLaw::zipf, .min = min, .max = max};
  options.exponent = exponent;
  return options;
}

// One law of each kind.
std::vector<LengthOptions> all_laws() {
  LengthOptions lognormal{.law = LengthLaw::lognormal};
  lognormal.median = 300.0;
  return {{.tokens = 7},
          {.law = LengthLaw::uniform, .min = 3, .max = 4000},
          lognormal,
          {.law = LengthLaw::empirical, .values = {1, 2, 9}, .weights = {5, 0, 2}},
          normal(300.0, 80.0),
          gamma(300.0, 0.6),
          of_mean(LengthLaw::exponential, 300.0),
          of_mean(LengthLaw::geometric, 300.0),
          zipf(1, 4096, 1.1)};
}

}  // namespace

TEST_CASE("normal lengths have their mean and standard deviation in the quantiles", "[workloads]") {
  const LengthSampler law = sampler(normal(1000.0, 100.0));
  CHECK(law.at(0.5) == 1000);
  CHECK(law.at(0.841344746) == 1100);  // Phi(1)
  CHECK(law.at(0.158655254) == 900);
  CHECK(law.at(0.977249868) == 1200);  // Phi(2)
  CHECK(sampler(normal(1000.0, 0.0)).at(0.99) == 1000);
  CHECK(sampler(normal(10.0, 1000.0)).at(0.1) == 1);  // never below one token
}

TEST_CASE("exponential lengths have their quantiles", "[workloads]") {
  const LengthSampler law = sampler(of_mean(LengthLaw::exponential, 1000.0));
  CHECK(law.at(0.5) == 693);    // 1000 ln 2
  CHECK(law.at(0.99) == 4605);  // 1000 ln 100
  CHECK(law.at(1e-9) == 1);
}

TEST_CASE("geometric lengths have their quantiles", "[workloads]") {
  // Mean 4: P(1) = 1/4, P(up to 2) = 7/16, P(up to 3) = 37/64.
  const LengthSampler law = sampler(of_mean(LengthLaw::geometric, 4.0));
  CHECK(law.at(0.2499) == 1);
  CHECK(law.at(0.2501) == 2);
  CHECK(law.at(0.4374) == 2);
  CHECK(law.at(0.4376) == 3);
  CHECK(law.at(0.5782) == 4);
  CHECK(sampler(of_mean(LengthLaw::geometric, 1.0)).at(0.999999) == 1);
}

TEST_CASE("zipf lengths have their quantiles", "[workloads]") {
  // Exponent 1 on 1 .. 4: weights 12, 6, 4, 3 of 25.
  const LengthSampler law = sampler(zipf(1, 4, 1.0));
  for (const auto& [u, tokens] : {std::pair{0.01, 1},
                                  {0.479, 1},
                                  {0.481, 2},
                                  {0.719, 2},
                                  {0.721, 3},
                                  {0.879, 3},
                                  {0.881, 4},
                                  {0.999, 4}}) {
    CAPTURE(u);
    CHECK(law.at(u) == tokens);
  }
  // Exponent 2 on 2 and 3: weights 1/4 and 1/9, so 9/13 for two tokens.
  CHECK(sampler(zipf(2, 3, 2.0)).at(0.692) == 2);
  CHECK(sampler(zipf(2, 3, 2.0)).at(0.693) == 3);
  CHECK(sampler(zipf(5, 5, 1.0)).at(0.3) == 5);
}

TEST_CASE("a zipf law finds every one of a million lengths", "[workloads]") {
  // Against the cumulative sums themselves, at both sides of lengths all over the table.
  const std::int64_t most = 1'000'000;
  const LengthSampler law = sampler(zipf(1, most, 0.5));
  std::vector<double> cumulative;
  double sum = 0.0;
  for (std::int64_t k = 1; k <= most; ++k) {
    sum += 1.0 / std::sqrt(static_cast<double>(k));
    cumulative.push_back(sum);
  }
  for (std::size_t k = 1; k < cumulative.size(); k = k * 9 / 8 + 1) {
    CHECK(law.at(cumulative[k - 1] / sum - 1e-10) == static_cast<std::int32_t>(k));
    CHECK(law.at(cumulative[k - 1] / sum + 1e-10) == static_cast<std::int32_t>(k + 1));
  }
  CHECK(law.at(0x1p-53) == 1);
  CHECK(law.at(1.0 - 0x1p-53) == most);
}

TEST_CASE("the fast gamma quantile is exact to 1e-6 for every shape and draw", "[workloads]") {
  for (const double shape : {0.01, 0.05, 0.3, 1.0, 4.0, 100.0, 10'000.0}) {
    const GammaQuantile quantile(1000.0, shape);
    double worst = 0.0;
    const auto compare = [&](double p) {
      const double exact = quantile.exact(p);
      if (exact > 1e-200) worst = std::max(worst, std::abs(quantile(p) / exact - 1.0));
    };
    for (int i = 1; i < 2000; ++i) compare(i / 2000.0);
    for (double tail = 0x1p-53; tail < 0.01; tail *= 1.9) {
      compare(tail);
      compare(1.0 - tail);
    }
    CAPTURE(shape);
    CHECK(worst < 1e-6);
  }
}

TEST_CASE("gamma lengths of shape 1 are the exponential lengths", "[workloads]") {
  const auto drawn = lengths(gamma(500.0, 1.0), 20'000);
  const auto exponential = lengths(of_mean(LengthLaw::exponential, 500.0), 20'000);
  // The table's error of 1e-6 moves a length of 5000 over a rounding in one of 200 draws.
  std::size_t different = 0;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    CHECK(std::abs(drawn[i] - exponential[i]) <= 1);
    different += drawn[i] != exponential[i] ? 1 : 0;
  }
  CHECK(different < 20);
}

TEST_CASE("clamped laws stay within their bounds and reach them", "[workloads]") {
  for (LengthOptions options :
       {normal(100.0, 80.0), gamma(100.0, 0.5), of_mean(LengthLaw::exponential, 100.0),
        of_mean(LengthLaw::geometric, 100.0)}) {
    options.min = 50;
    options.max = 200;
    const auto all = lengths(options, 10'000);
    CHECK(*std::min_element(all.begin(), all.end()) == 50);
    CHECK(*std::max_element(all.begin(), all.end()) == 200);
  }
  const auto widest = lengths(gamma(2147483647.0, 0.01), 10'000);
  CHECK(*std::min_element(widest.begin(), widest.end()) == 1);
  CHECK(*std::max_element(widest.begin(), widest.end()) == INT32_MAX);
}

TEST_CASE("a larger draw is never a shorter length", "[workloads]") {
  for (const LengthOptions& options : all_laws()) {
    const LengthSampler law = sampler(options);
    std::int32_t last = 0;
    for (int i = 0; i < 20'000; ++i) {
      const std::int32_t tokens = law.at((i + 0.5) / 20'000.0);
      CHECK(tokens >= last);
      last = tokens;
    }
    CHECK(law.at(0x1p-60) >= 1);
    CHECK(law.at(1.0 - 0x1p-53) >= last);
  }
}

TEST_CASE("each length is one draw, handed out or put in", "[workloads]") {
  for (const LengthOptions& options : all_laws()) {
    LengthSampler plain = sampler(options);
    LengthSampler both = sampler(options);
    RandomStream stream(1, "lengths/prompt");
    std::vector<std::int32_t> tokens(1000);
    std::vector<std::int32_t> same(1000);
    std::vector<double> draws(1000);
    plain.fill(tokens);
    both.fill(same, draws);
    CHECK(same == tokens);
    for (std::size_t i = 0; i < draws.size(); ++i) {
      const double u = stream.uniform();
      CHECK(draws[i] == u);
      CHECK(plain.at(u) == tokens[i]);
    }
    const double next = stream.uniform();
    CHECK(both.draw() == next);
  }
}

TEST_CASE("the same seed gives the same lengths of every law, on every machine", "[workloads]") {
  Digest d;
  for (const LengthOptions& options : all_laws()) {
    for (const std::int32_t tokens : lengths(options, 2000, 42)) d.add(tokens);
  }
  CHECK(d.hex() == "1caad5fb19bcb370b8deeabb5725df3d");
}

TEST_CASE("parameters of the laws out of range are refused", "[workloads]") {
  const auto refuses = [](const LengthOptions& options, const std::string& message) {
    CHECK_THROWS_MATCHES(LengthSampler(options, 1, "lengths/output"), ConfigError,
                         Catch::Message("lengths/output: " + message));
  };
  refuses({.law = LengthLaw::normal}, "a normal law needs its mean");
  refuses({.law = LengthLaw::gamma}, "a gamma law needs its mean");
  refuses({.law = LengthLaw::exponential}, "an exponential law needs its mean");
  refuses({.law = LengthLaw::geometric}, "a geometric law needs its mean");
  refuses(of_mean(LengthLaw::normal, 5.0), "a normal law needs its stddev");
  refuses(normal(5.0, -1.0), "stddev is -1; allowed: 0 .. 2147483647 tokens");
  refuses(normal(5.0, kNan), "stddev is nan; allowed: 0 .. 2147483647 tokens");
  refuses(normal(kNan, 1.0), "mean is nan; allowed: above 0, at most 2147483647 tokens");
  refuses(gamma(0.0, 1.0), "mean is 0; allowed: above 0, at most 2147483647 tokens");
  refuses(gamma(5.0, 0.001), "shape is 0.001; allowed: 0.01 .. 10000");
  refuses(gamma(5.0, kNan), "shape is nan; allowed: 0.01 .. 10000");
  refuses(of_mean(LengthLaw::geometric, 0.5),
          "mean is 0.5; a geometric law allows: 1 .. 2147483647 tokens");
  refuses(zipf(1, 100, 0.0), "exponent is 0; allowed: above 0, at most 20");
  refuses(zipf(1, 100, kNan), "exponent is nan; allowed: above 0, at most 20");
  refuses(zipf(1, 100, 21.0), "exponent is 21; allowed: above 0, at most 20");
  refuses(zipf(1, 1'000'001, 1.0),
          "min 1 and max 1000001 span more than 1000000 lengths of a zipf law");
  refuses(zipf(0, 10, 1.0), "min is 0; allowed: 1 .. 2147483647 tokens");
  LengthOptions inverted = gamma(5.0, 1.0);
  inverted.min = 9;
  inverted.max = 8;
  refuses(inverted, "min 9 is above max 8");
}

}  // namespace headroom::length_laws_test
