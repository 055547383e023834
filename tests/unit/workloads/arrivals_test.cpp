#include "workloads/arrivals.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "sim/kernel/digest.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom::arrivals_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<TimeNs> times(const ArrivalOptions& options, std::size_t count,
                          std::uint64_t seed = 1) {
  ArrivalTimes arrivals(options, seed, static_cast<std::int64_t>(count));
  std::vector<TimeNs> all(count);
  arrivals.fill(all);
  return all;
}

std::string digest(const ArrivalOptions& options) {
  Digest d;
  for (const TimeNs time : times(options, 1000, 42)) d.add(time);
  return d.hex();
}

// Mean and squared coefficient of variation of the gaps, the first one included.
struct Gaps {
  double mean_s = 0.0;
  double scv = 0.0;
};
Gaps gaps(const std::vector<TimeNs>& all) {
  double sum = 0.0;
  double squares = 0.0;
  TimeNs previous = 0;
  for (const TimeNs time : all) {
    const double gap = static_cast<double>(time - previous) * 1e-9;
    sum += gap;
    squares += gap * gap;
    previous = time;
  }
  const auto n = static_cast<double>(all.size());
  const double mean = sum / n;
  return {.mean_s = mean, .scv = (squares / n - mean * mean) / (mean * mean)};
}

}  // namespace

TEST_CASE("poisson arrivals have the rate asked for and exponential gaps", "[workloads]") {
  // Standard error of the mean gap: 0.1 s / sqrt(n). Of the squared CV of gamma gaps with shape k,
  // relative: sqrt(2 (1 + 1/k) / n) (delta method), so 2 / sqrt(n) here.
  const Gaps g = gaps(times({.rate_per_s = 10.0}, 100'000));
  CHECK(std::abs(g.mean_s - 0.1) < 4 * 0.1 / std::sqrt(1e5));
  CHECK(std::abs(g.scv - 1.0) < 4 * 2.0 / std::sqrt(1e5));
}

TEST_CASE("gamma gaps have mean 1/rate and squared variation 1/burstiness", "[workloads]") {
  for (const double burstiness : {0.25, 4.0}) {
    const Gaps g = gaps(times(
        {.process = ArrivalProcess::gamma, .rate_per_s = 2.0, .burstiness = burstiness}, 100'000));
    CAPTURE(burstiness);
    CHECK(std::abs(g.mean_s - 0.5) < 4 * 0.5 / std::sqrt(burstiness * 1e5));
    const double error = std::sqrt(2.0 * (1.0 + 1.0 / burstiness) / 1e5);  // as above
    CHECK(std::abs(g.scv * burstiness - 1.0) < 4 * error);
  }
}

TEST_CASE("burstiness 1 is poisson and infinite burstiness constant, byte for byte",
          "[workloads]") {
  ArrivalOptions gamma{.process = ArrivalProcess::gamma, .rate_per_s = 3.0, .burstiness = 1.0};
  CHECK(times(gamma, 100) == times({.rate_per_s = 3.0}, 100));
  gamma.burstiness = kInfinity;
  const ArrivalOptions constant{.process = ArrivalProcess::constant, .rate_per_s = 3.0};
  CHECK(times(gamma, 100) == times(constant, 100));
  gamma.process = ArrivalProcess::vllm_bench;
  CHECK(times(gamma, 100) == times(constant, 100));
}

TEST_CASE("constant arrivals are k/rate rounded once, without drift", "[workloads]") {
  const std::vector<TimeNs> all =
      times({.process = ArrivalProcess::constant, .rate_per_s = 3.0}, 3'000'000);
  CHECK(all[0] == 333'333'333);
  CHECK(all[1] == 666'666'667);
  CHECK(all[2] == 1'000'000'000);
  CHECK(all.back() == 1'000'000'000'000'000);  // 1e6 s; gaps rounded one by one would lose 1 ms
}

TEST_CASE("all at once is at 0, with an infinite rate too", "[workloads]") {
  const std::vector<TimeNs> zeros(5, 0);
  CHECK(times({.process = ArrivalProcess::all_at_once}, 5) == zeros);
  CHECK(times({.process = ArrivalProcess::poisson, .rate_per_s = kInfinity}, 5) == zeros);
  CHECK(times({.process = ArrivalProcess::vllm_bench, .rate_per_s = kInfinity}, 5) == zeros);
}

TEST_CASE("the last request of vllm_bench comes at count/rate exactly", "[workloads]") {
  for (const double burstiness : {0.1, 1.0, 5.0}) {
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
      const std::vector<TimeNs> all = times(
          {.process = ArrivalProcess::vllm_bench, .rate_per_s = 7.0, .burstiness = burstiness},
          1000, seed);
      CHECK(all.back() == 142'857'142'857);  // 1000 / 7 s
      CHECK(std::is_sorted(all.begin(), all.end()));
      CHECK(all.front() >= 0);
    }
  }
}

TEST_CASE("vllm_bench ends exactly where doubles have no nanoseconds left", "[workloads]") {
  // 10 requests at 1e-8 per s: 1e18 ns, where doubles are 128 apart. For some seeds the product
  // of the sum and the scale is not the end.
  const ArrivalOptions slow{.process = ArrivalProcess::vllm_bench, .rate_per_s = 1e-8};
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CHECK(times(slow, 10, seed).back() == 1'000'000'000'000'000'000);
  }
}

TEST_CASE("vllm_bench scales the whole schedule, gap by gap", "[workloads]") {
  const std::vector<TimeNs> plain = times({.rate_per_s = 7.0}, 1000);
  const std::vector<TimeNs> scaled =
      times({.process = ArrivalProcess::vllm_bench, .rate_per_s = 7.0}, 1000);
  const double factor = static_cast<double>(scaled.back()) / static_cast<double>(plain.back());
  CHECK(std::abs(factor - 1.0) > 1e-4);  // this seed's schedule has to be scaled at all
  for (std::size_t i = 0; i < plain.size(); ++i) {
    // Each side is rounded to a nanosecond, and the factor is known to 1e-11.
    CHECK(std::abs(static_cast<double>(plain[i]) * factor - static_cast<double>(scaled[i])) < 3.0);
  }
}

TEST_CASE("the rounded instants are non-decreasing and exact to a nanosecond", "[workloads]") {
  // A rate of 2 per ns: most gaps are below one nanosecond, and none may be lost.
  const std::vector<TimeNs> all = times({.rate_per_s = 2e9}, 100'000);
  CHECK(std::is_sorted(all.begin(), all.end()));
  CHECK(std::abs(static_cast<double>(all.back()) - 50'000.0) < 4 * 0.5 * std::sqrt(1e5));
}

TEST_CASE("the same seed gives the same arrivals, on every machine", "[workloads]") {
  CHECK(digest({.rate_per_s = 10.0}) == "860c8548a3024e983957771a3a4a9ed2");
  CHECK(digest({.process = ArrivalProcess::gamma, .rate_per_s = 10.0, .burstiness = 0.5}) ==
        "93885a633f437b6536b8ec41a9d81ef7");
  CHECK(digest({.process = ArrivalProcess::vllm_bench, .rate_per_s = 10.0}) ==
        "b1516efb86709dfa8a8b6a9cde233f4d");
  CHECK(times({}, 10, 1) != times({}, 10, 2));
}

TEST_CASE("arrival options out of range are refused", "[workloads]") {
  const auto refuses = [](const ArrivalOptions& options, std::optional<std::int64_t> count,
                          const char* message) {
    CHECK_THROWS_MATCHES(ArrivalTimes(options, 1, count), ConfigError, Catch::Message(message));
  };
  refuses({.rate_per_s = 0.0}, 5,
          "arrivals: the rate is 0 requests/s; allowed: greater than 0, infinity = all at once");
  refuses({.process = ArrivalProcess::gamma, .burstiness = -1.0}, 5,
          "arrivals: the burstiness is -1; allowed: greater than 0, infinity = equal gaps");
  refuses({.rate_per_s = std::numeric_limits<double>::quiet_NaN()}, 5,
          "arrivals: the rate is nan requests/s; allowed: greater than 0, infinity = all at once");
  refuses({.process = ArrivalProcess::vllm_bench}, std::nullopt,
          "arrivals: process vllm_bench needs the number of requests");
  refuses({.process = ArrivalProcess::all_at_once}, std::nullopt,
          "arrivals: if all requests arrive at once, their number is needed");
  CHECK_THROWS_MATCHES(times({.rate_per_s = 1e-12}, 100), ConfigError,
                       Catch::Message("arrivals: with a rate of 1e-12 requests/s a request would "
                                      "arrive after more than 146 years (2^62 ns)"));
}

}  // namespace headroom::arrivals_test
