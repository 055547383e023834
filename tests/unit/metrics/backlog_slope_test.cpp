#include "sim/metrics/backlog_slope.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "sim/kernel/random.hpp"
#include "sim/metrics/population_meter.hpp"

namespace headroom::backlog_slope_test {

namespace {

RequestRecord record(TimeNs arrival_ns, TimeNs finish_ns) {
  RequestRecord one;
  one.arrival_ns = one.queued_ns = arrival_ns;
  one.finish_ns = finish_ns;
  return one;
}

// One server, 10 ms per request, Poisson arrivals at `load` of its rate.
std::vector<RequestRecord> queue_at(double load, std::size_t requests, std::uint64_t seed) {
  constexpr TimeNs kServiceNs = 10'000'000;
  RandomStream random(seed, "arrivals");
  std::vector<RequestRecord> records;
  TimeNs arrival_ns = 0;
  TimeNs free_ns = 0;
  for (std::size_t i = 0; i < requests; ++i) {
    arrival_ns += static_cast<TimeNs>(random.exponential(static_cast<double>(kServiceNs) / load));
    free_ns = std::max(free_ns, arrival_ns) + kServiceNs;
    records.push_back(record(arrival_ns, free_ns));
  }
  return records;
}

BacklogSlope slope_of(const std::vector<RequestRecord>& records, TimeNs start_ns, TimeNs end_ns) {
  WindowReport window;
  window.start_ns = start_ns;
  window.end_ns = end_ns;
  return backlog_slope(records, window).value();
}

}  // namespace

TEST_CASE("a backlog of one request more each second has slope 1 and no width") {
  // Arrivals at 0, 1, 2, ... s that never leave: N(t) = 1 + floor(t). Batches of 1 s: 1, 2, 3, ...
  std::vector<RequestRecord> records;
  for (TimeNs s = 0; s < 20; ++s) records.push_back(record(s * kNsPerSecond, -1));
  const BacklogSlope slope = slope_of(records, 0, 20 * kNsPerSecond);
  CHECK(slope.per_s == Approx(1));
  CHECK(slope.low_per_s == Approx(1));
  CHECK(slope.high_per_s == Approx(1));
}

TEST_CASE("requests that are there all the time have slope 0, wherever they begin and end") {
  constexpr TimeNs kS = kNsPerSecond;
  const std::vector<RequestRecord> records{record(-5 * kS, 60 * kS), record(0, 40 * kS),
                                           record(20 * kS, -1), record(90 * kS, 95 * kS)};
  const BacklogSlope slope = slope_of(records, 20 * kS, 40 * kS);  // the first three throughout
  CHECK(slope.per_s == Approx(0).margin(1e-9));
  CHECK(slope.high_per_s == Approx(0).margin(1e-9));
}

TEST_CASE("batch means are those of the integrals from the records") {
  // A line through means that are 0 but in the last batch, where one request is for half of it:
  // slope = t_19 * 0.5 / sum t^2 with t = -9.5 .. 9.5 s, sum 665.
  const std::vector<RequestRecord> records{
      record(19 * kNsPerSecond + kNsPerSecond / 2, 30 * kNsPerSecond)};
  CHECK(slope_of(records, 0, 20 * kNsPerSecond).per_s == Approx(9.5 * 0.5 / 665));
}

TEST_CASE("an overloaded server's backlog grows by what it cannot serve") {
  // 130 arrivals/s, 100 served: 30/s, and the interval is above 0.
  const auto records = queue_at(1.3, 20'000, 1);
  const BacklogSlope slope = slope_of(records, 0, records.back().arrival_ns);
  CHECK(slope.per_s == Approx(30).margin(2));
  CHECK(slope.low_per_s > 20);
}

TEST_CASE("the interval of a stable server's backlog contains 0 nearly always") {
  int outside = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto records = queue_at(0.7, 4'000, seed);
    const BacklogSlope slope =
        slope_of(records, records.back().arrival_ns / 10, records.back().arrival_ns);
    if (slope.low_per_s > 0 || slope.high_per_s < 0) ++outside;
  }
  CHECK(outside <= 20);  // 5 % are expected; more than 10 % of 200 would be no accident
}

TEST_CASE("a window without length has no slope") {
  CHECK_FALSE(backlog_slope({}, {}).has_value());
}

}  // namespace headroom::backlog_slope_test
