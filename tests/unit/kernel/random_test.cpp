#include "sim/kernel/random.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "sim/kernel/check.hpp"

namespace headroom::random_test {
namespace {

constexpr int kDraws = 400'000;
constexpr double kStandardErrors = 4.0;

// Checks mean and variance of a law against their true values, at 4 standard errors:
// s.e.(mean) = sqrt(var / n), s.e.(variance) = var * sqrt((excess kurtosis + 2) / n).
template <typename Draw>
void check_moments(double mean, double variance, double excess_kurtosis, Draw draw) {
  RandomStream stream(2024, "moments");
  std::vector<double> values(kDraws);
  double sum = 0.0;
  for (double& v : values) {
    v = draw(stream);
    sum += v;
  }
  const double sample_mean = sum / kDraws;
  double squares = 0.0;
  for (const double v : values) squares += (v - sample_mean) * (v - sample_mean);
  const double mean_error = std::sqrt(variance / kDraws);
  const double variance_error = variance * std::sqrt((excess_kurtosis + 2.0) / kDraws);
  CHECK(std::fabs(sample_mean - mean) < kStandardErrors * mean_error);
  CHECK(std::fabs(squares / kDraws - variance) < kStandardErrors * variance_error);
}

TEST_CASE("uniform has mean 1/2 and variance 1/12", "[random]") {
  check_moments(0.5, 1.0 / 12.0, -1.2, [](RandomStream& s) { return s.uniform(); });
}

TEST_CASE("uniform integers have the moments of a die", "[random]") {
  // n = 6 faces: variance (n^2 - 1) / 12 = 35/12, excess kurtosis -6/5 (n^2 + 1) / (n^2 - 1).
  check_moments(3.5, 35.0 / 12.0, -1.2 * 37.0 / 35.0,
                [](RandomStream& s) { return static_cast<double>(s.uniform_int(1, 6)); });
}

TEST_CASE("exponential has standard deviation = mean", "[random]") {
  check_moments(2.5, 6.25, 6.0, [](RandomStream& s) { return s.exponential(2.5); });
}

TEST_CASE("normal has mean 0 and variance 1", "[random]") {
  check_moments(0.0, 1.0, 0.0, [](RandomStream& s) { return s.normal(); });
}

TEST_CASE("normal has the normal tails", "[random]") {
  RandomStream stream(5, "tails");
  int beyond_2 = 0;
  for (int i = 0; i < kDraws; ++i) beyond_2 += std::fabs(stream.normal()) > 2.0 ? 1 : 0;
  // P(|x| > 2) = erfc(sqrt 2).
  const double p = std::erfc(std::sqrt(2.0));
  CHECK(std::fabs(beyond_2 - kDraws * p) < kStandardErrors * std::sqrt(kDraws * p * (1.0 - p)));
}

TEST_CASE("gamma has mean k theta and variance k theta^2 above and below shape 1", "[random]") {
  for (const double shape : {0.1, 0.5, 1.0, 2.0, 30.0}) {
    INFO("shape " << shape);
    check_moments(shape * 3.0, shape * 9.0, 6.0 / shape,
                  [shape](RandomStream& s) { return s.gamma(shape, 3.0); });
  }
}

TEST_CASE("gamma of shape 1 is exponential, of shape 1/2 half a squared normal", "[random]") {
  RandomStream stream(6, "gamma");
  int above_one = 0;
  int half_above_half = 0;
  for (int i = 0; i < kDraws; ++i) {
    above_one += stream.gamma(1.0, 1.0) > 1.0 ? 1 : 0;
    half_above_half += stream.gamma(0.5, 1.0) > 0.5 ? 1 : 0;
  }
  const double p = std::exp(-1.0);
  const double q = std::erfc(std::sqrt(0.5));  // P(x^2 / 2 > 1/2) = P(|x| > 1)
  const auto limit = [](double r) { return kStandardErrors * std::sqrt(kDraws * r * (1.0 - r)); };
  CHECK(std::fabs(above_one - kDraws * p) < limit(p));
  CHECK(std::fabs(half_above_half - kDraws * q) < limit(q));
}

TEST_CASE("the logarithm of a lognormal is normal around ln median", "[random]") {
  check_moments(std::log(200.0), 0.49, 0.0,
                [](RandomStream& s) { return std::log(s.lognormal(200.0, 0.7)); });
}

TEST_CASE("uniform stays inside (0, 1)", "[random]") {
  RandomStream stream(7, "range");
  double low = 1.0;
  double high = 0.0;
  for (int i = 0; i < kDraws; ++i) {
    const double u = stream.uniform();
    low = std::min(low, u);
    high = std::max(high, u);
  }
  CHECK(low > 0.0);
  CHECK(high < 1.0);
}

TEST_CASE("uniform integers cover a range, both ends included, also the widest", "[random]") {
  RandomStream stream(8, "integers");
  std::array<int, 5> seen{};
  for (int i = 0; i < 1000; ++i) ++seen.at(static_cast<std::size_t>(stream.uniform_int(-2, 2) + 2));
  for (const int count : seen) CHECK(count > 0);
  CHECK(stream.uniform_int(9, 9) == 9);
  constexpr std::int64_t kLow = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kHigh = std::numeric_limits<std::int64_t>::max();
  int negative = 0;
  for (int i = 0; i < 1000; ++i) negative += stream.uniform_int(kLow, kHigh) < 0 ? 1 : 0;
  CHECK(std::abs(negative - 500) < 4 * 16);  // s.e. = sqrt(1000) / 2 = 15.8
}

TEST_CASE("uniform integers are unbiased where bits do not divide evenly", "[random]") {
  // 3 * 2^62 values: the plain product method would give every third value twice the weight.
  RandomStream stream(9, "bias");
  constexpr std::int64_t kThird = std::int64_t{1} << 62;
  std::array<int, 3> thirds{};
  std::array<int, 3> residues{};
  for (int i = 0; i < kDraws; ++i) {
    const std::int64_t v = stream.uniform_int(-kThird, 2 * (kThird - 1) + 1);
    ++thirds.at(v < 0 ? 0 : v < kThird ? 1 : 2);
    ++residues.at((static_cast<std::uint64_t>(v) + static_cast<std::uint64_t>(kThird)) % 3);
  }
  const double error = kStandardErrors * std::sqrt(kDraws * (1.0 / 3.0) * (2.0 / 3.0));
  for (const int count : thirds) CHECK(std::fabs(count - kDraws / 3.0) < error);
  for (const int count : residues) CHECK(std::fabs(count - kDraws / 3.0) < error);
}

TEST_CASE("the same seed and name give the same stream", "[random]") {
  RandomStream a(1, "arrivals");
  RandomStream b(1, "arrivals");
  for (int i = 0; i < 100; ++i) REQUIRE(a.bits() == b.bits());
}

TEST_CASE("streams of different names or seeds are uncorrelated", "[random]") {
  const auto correlation = [](RandomStream a, RandomStream b) {
    double sum = 0.0;
    for (int i = 0; i < kDraws; ++i) {
      const double x = a.uniform() - 0.5;
      const double y = b.uniform() - 0.5;
      sum += x * y;
    }
    return 12.0 * sum / kDraws;
  };
  // Under independence its standard error is 1 / sqrt(n).
  const double limit = kStandardErrors / std::sqrt(kDraws);
  CHECK(std::fabs(correlation({1, "arrivals"}, {1, "lengths"})) < limit);
  CHECK(std::fabs(correlation({1, "session/1"}, {1, "session/2"})) < limit);
  CHECK(std::fabs(correlation({1, "arrivals"}, {2, "arrivals"})) < limit);
  CHECK(correlation({1, "arrivals"}, {1, "arrivals"}) > 0.9);  // the measure sees equal streams
}

// A change of any of these changes the traffic of every scenario: it needs a note to the users.
TEST_CASE("the first values of every law are the recorded ones", "[random]") {
  const auto stream = [] { return RandomStream(42, "golden"); };
  CHECK(stream().bits() == 0xc69acb33e4e69fe4);
  CHECK(stream().uniform() == 0x1.8d359667c9cd3p-1);
  CHECK(stream().uniform_int(0, 999'999) == 775799);
  CHECK(stream().exponential(1.0) == 0x1.03f431a0c4762p-2);
  CHECK(stream().normal() == 0x1.969c792d3cd3ap-1);
  CHECK(stream().gamma(2.5, 1.0) == 0x1.c77c287d95471p+1);
  CHECK(stream().gamma(0.25, 1.0) == 0x1.7964ee0bd6ec2p-5);
  CHECK(stream().lognormal(100.0, 0.5) == 0x1.297ed0247658fp+7);
}

TEST_CASE("laws outside their domain are refused", "[random]") {
  RandomStream stream(1, "domain");
  CHECK_THROWS_AS(stream.uniform_int(2, 1), InternalError);
  CHECK_THROWS_AS(stream.exponential(0.0), InternalError);
  CHECK_THROWS_AS(stream.gamma(0.0, 1.0), InternalError);
  CHECK_THROWS_AS(stream.lognormal(0.0, 1.0), InternalError);
}

}  // namespace
}  // namespace headroom::random_test
