#include "sim/metrics/statistics.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "sim/kernel/random.hpp"
#include "sim/metrics/thin_percentiles.hpp"

namespace headroom::statistics_test {

namespace {
std::vector<double> at(std::vector<std::int64_t> values, std::vector<double> p) {
  return percentiles(values, p);
}

// Of values in parts, part i ending at ends[i].
LatencyByPart by_part(const std::vector<std::int64_t>& values,
                      const std::vector<std::size_t>& ends) {
  LatencyByPart latency(ends.size());
  for (const auto take : {&LatencyByPart::count, &LatencyByPart::keep}) {
    std::size_t part = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      while (i >= ends[part]) ++part;
      (latency.*take)(part, values[i]);
    }
    if (take == &LatencyByPart::count) latency.end_first_pass();
  }
  return latency;
}

LatencyStats statistics_of(const std::vector<std::int64_t>& values, double scale) {
  return by_part(values, {values.size()}).of_all(scale);
}
}  // namespace

TEST_CASE("percentiles are those of numpy") {
  // numpy.percentile([1, 2, 3, 4], [0, 25, 50, 100]) and [15, 20, 35, 40, 50] at 40.
  CHECK(at({4, 1, 3, 2}, {0, 25, 50, 100}) == std::vector<double>{1.0, 1.75, 2.5, 4.0});
  CHECK(at({50, 20, 15, 40, 35}, {40})[0] == Approx(29.0));
  CHECK(at({7}, {1, 99}) == std::vector<double>{7.0, 7.0});
  CHECK(at({}, {50}) == std::vector<double>{0.0});
  std::vector<std::int64_t> hundred(100);
  for (std::size_t i = 0; i < 100; ++i) hundred[i] = static_cast<std::int64_t>(100 - i);
  const auto p = at(hundred, {50, 90, 95, 99});
  CHECK(p[0] == Approx(50.5));
  CHECK(p[1] == Approx(90.1));
  CHECK(p[2] == Approx(95.05));
  CHECK(p[3] == Approx(99.01));
}

TEST_CASE("percentiles equal those of the sorted values") {
  RandomStream random(1, "percentiles");
  for (int round = 0; round < 300; ++round) {
    std::vector<std::int64_t> values(static_cast<std::size_t>(random.uniform_int(1, 300)));
    for (auto& value : values) value = random.uniform_int(0, 50);  // many ties
    const std::vector<double> p{0, 10, 50, 50, 90, 99, 100};
    const auto found = at(values, p);
    std::sort(values.begin(), values.end());
    for (std::size_t i = 0; i < p.size(); ++i) {
      const double rank = p[i] / 100 * static_cast<double>(values.size() - 1);
      const auto low = static_cast<std::size_t>(rank);
      const auto high = std::min(low + 1, values.size() - 1);
      const double share = rank - static_cast<double>(low);
      REQUIRE(found[i] == Approx(static_cast<double>(values[low]) * (1 - share) +
                                 static_cast<double>(values[high]) * share));
    }
  }
}

TEST_CASE("the standard deviation is that of a population and does not cancel") {
  // 2, 4, 4, 4, 5, 5, 7, 9: mean 5, std 2; the same far away from 0.
  for (const std::int64_t far : {std::int64_t{0}, std::int64_t{1} << 60}) {
    std::vector<std::int64_t> values{2, 4, 4, 4, 5, 5, 7, 9};
    for (auto& value : values) value += far;
    const LatencyStats stats = statistics_of(values, 1.0);
    CHECK(stats.std == 2.0);
    CHECK(stats.mean == static_cast<double>(5 + far));
  }
}

TEST_CASE("parts have the statistics of their own values, and all together those of all") {
  RandomStream random(3, "parts");
  const auto equal = [](const LatencyStats& a, const LatencyStats& b) {
    return a.mean == b.mean && a.std == b.std && a.median == b.median && a.p90 == b.p90 &&
           a.p95 == b.p95 && a.p99 == b.p99;
  };
  for (int round = 0; round < 100; ++round) {
    std::vector<std::int64_t> values;
    std::vector<std::size_t> ends;
    for (int part = 0; part < 3; ++part) {
      const std::int64_t count = random.uniform_int(0, 2) == 0 ? 0 : random.uniform_int(1, 400);
      const std::int64_t most = std::int64_t{1} << random.uniform_int(1, 60);
      for (std::int64_t i = 0; i < count; ++i) values.push_back(random.uniform_int(0, most));
      ends.push_back(values.size());
    }
    LatencyByPart latency = by_part(values, ends);
    const LatencyStats all = latency.of_all(1e-6);
    REQUIRE(equal(all, statistics_of(values, 1e-6)));
    const std::vector<double> p{50, 90, 95, 99};
    REQUIRE(all.p99 == percentiles(values, p)[3] * 1e-6);
    std::size_t begin = 0;
    for (std::size_t part = 0; part < 3; ++part) {
      const std::vector own(values.begin() + static_cast<std::ptrdiff_t>(begin),
                            values.begin() + static_cast<std::ptrdiff_t>(ends[part]));
      const LatencyStats stats = latency.of_part(part, 1e-6);
      REQUIRE(equal(stats, statistics_of(own, 1e-6)));
      REQUIRE(stats.median == percentiles(own, p)[0] * 1e-6);
      begin = ends[part];
    }
  }
}

TEST_CASE("a percentile needs enough values for one to lie beyond it") {
  CHECK(thin_percentiles(1) == "p90, p95 and p99");
  CHECK(thin_percentiles(9) == "p90, p95 and p99");
  CHECK(thin_percentiles(10) == "p95 and p99");
  CHECK(thin_percentiles(20) == "p99");
  CHECK(thin_percentiles(99) == "p99");
  CHECK(thin_percentiles(100).empty());
  CHECK(thin_percentiles(0).empty());
}

}  // namespace headroom::statistics_test
