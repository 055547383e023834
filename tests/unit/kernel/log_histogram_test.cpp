#include "sim/kernel/log_histogram.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "sim/kernel/check.hpp"

namespace headroom::log_histogram_test {
namespace {

// numpy.percentile(values, p), method "linear".
double exact_percentile(std::vector<std::int64_t> values, double p) {
  std::sort(values.begin(), values.end());
  const double position = static_cast<double>(values.size() - 1) * p / 100.0;
  const auto rank = static_cast<std::size_t>(position);
  const auto low = static_cast<double>(values[rank]);
  const auto high = static_cast<double>(values[std::min(rank + 1, values.size() - 1)]);
  return low + (high - low) * (position - static_cast<double>(rank));
}

TEST_CASE("buckets follow each other without gap up to the largest value", "[log_histogram]") {
  const std::size_t last = LogHistogram::bucket_index(INT64_MAX);
  CHECK(LogHistogram::bucket_low(0) == 0);
  for (std::size_t i = 0; i < last; ++i) {
    REQUIRE(LogHistogram::bucket_low(i + 1) == LogHistogram::bucket_high(i) + 1);
  }
  CHECK(LogHistogram::bucket_high(last) == INT64_MAX);
}

TEST_CASE("the lowest and the highest value of a bucket fall into it", "[log_histogram]") {
  for (std::size_t i = 0; i <= LogHistogram::bucket_index(INT64_MAX); ++i) {
    REQUIRE(LogHistogram::bucket_index(LogHistogram::bucket_low(i)) == i);
    REQUIRE(LogHistogram::bucket_index(LogHistogram::bucket_high(i)) == i);
  }
}

TEST_CASE("no bucket is wider than 1/1024 of its lowest value", "[log_histogram]") {
  for (std::size_t i = 1; i <= LogHistogram::bucket_index(INT64_MAX); ++i) {
    const auto low = static_cast<std::uint64_t>(LogHistogram::bucket_low(i));
    const auto span = static_cast<std::uint64_t>(LogHistogram::bucket_high(i)) - low;
    REQUIRE(span <= low / 1024);  // span = width - 1
  }
}

TEST_CASE("values below 2048 are kept exactly", "[log_histogram]") {
  for (std::int64_t v = 0; v < 2048; ++v) {
    LogHistogram histogram;
    histogram.add(v);
    REQUIRE(histogram.percentile(50) == static_cast<double>(v));
  }
}

TEST_CASE("percentiles interpolate between order statistics as numpy does", "[log_histogram]") {
  LogHistogram histogram;
  for (const std::int64_t v : {40, 10, 30, 20}) histogram.add(v);
  CHECK(histogram.percentile(0) == 10.0);
  CHECK(histogram.percentile(100) == 40.0);
  CHECK(histogram.percentile(50) == 25.0);                         // position 1.5
  CHECK(histogram.percentile(25) == 17.5);                         // position 0.75: 10 + 0.75 * 10
  CHECK(histogram.percentile(90) == Approx(37.0).epsilon(1e-15));  // position 2.7
}

TEST_CASE("a count stands for that many equal values", "[log_histogram]") {
  LogHistogram histogram;
  histogram.add(5, 99);
  histogram.add(1005, 1);
  histogram.add(77, 0);
  CHECK(histogram.count() == 100);
  CHECK(histogram.percentile(98) == 5.0);
  // Position 99 * 0.995 = 98.505: half-way and a little more from 5 to 1005.
  CHECK(histogram.percentile(99.5) == Approx(510.0).epsilon(1e-14));
}

TEST_CASE("percentiles of large values are within 0.1 % of the exact ones", "[log_histogram]") {
  std::mt19937_64 random(3);
  std::vector<std::int64_t> values;
  LogHistogram histogram;
  for (int i = 0; i < 20'000; ++i) {
    const double exponent = std::uniform_real_distribution<double>(0.0, 42.0)(random);
    values.push_back(static_cast<std::int64_t>(std::exp2(exponent)));
    histogram.add(values.back());
  }
  for (const double p : {0.0, 1.0, 10.0, 50.0, 90.0, 95.0, 99.0, 99.9, 100.0}) {
    CHECK(histogram.percentile(p) == Approx(exact_percentile(values, p)).epsilon(0.001));
  }
}

TEST_CASE("a merged histogram equals one that took all values", "[log_histogram]") {
  LogHistogram all;
  LogHistogram small;
  LogHistogram large;
  for (std::int64_t v = 1; v < 1'000'000'000; v = v * 3 + 1) {
    all.add(v, v % 7);
    (v < 5000 ? small : large).add(v, v % 7);
  }
  small.merge(large);
  CHECK(small == all);
  CHECK(small.count() == all.count());
  CHECK_FALSE(large == all);
}

TEST_CASE("equality does not see how far the buckets were once grown", "[log_histogram]") {
  LogHistogram grown;
  grown.add(1'000'000, 0);
  CHECK(grown == LogHistogram{});
}

TEST_CASE("negative values and percentiles of nothing are refused", "[log_histogram]") {
  LogHistogram histogram;
  CHECK_THROWS_AS(histogram.add(-1), InternalError);
  CHECK_THROWS_AS(histogram.percentile(50), InternalError);
  histogram.add(1);
  CHECK_THROWS_AS(histogram.percentile(100.5), InternalError);
}

}  // namespace
}  // namespace headroom::log_histogram_test
