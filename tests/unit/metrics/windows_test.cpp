#include "sim/metrics/windows.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "sim/kernel/random.hpp"
#include "sim/metrics/record_digest.hpp"
#include "tests/support/record_sums.hpp"

namespace headroom::windows_test {

namespace {

// One server, 10 ms per request, Poisson arrivals at `load` of its rate (M/D/1 by Lindley's
// recursion).
std::vector<RequestRecord> queue_at(double load, std::size_t requests, std::uint64_t seed) {
  constexpr TimeNs kServiceNs = 10'000'000;
  RandomStream random(seed, "arrivals");
  std::vector<RequestRecord> records(requests);
  TimeNs arrival_ns = 0;
  TimeNs free_ns = 0;
  for (std::size_t i = 0; i < requests; ++i) {
    arrival_ns += static_cast<TimeNs>(random.exponential(static_cast<double>(kServiceNs) / load));
    free_ns = std::max(free_ns, arrival_ns) + kServiceNs;
    RequestRecord& record = records[i];
    record.index = i;
    record.arrival_ns = record.queued_ns = arrival_ns;
    record.first_token_ns = record.finish_ns = free_ns;
    record.prompt_tokens = record.output_tokens = 1;
    record.outcome = Outcome::finished;
  }
  return records;
}

// In order of arrival, some of which never leave.
std::vector<RequestRecord> random_records(RandomStream& random) {
  std::vector<RequestRecord> records(static_cast<std::size_t>(random.uniform_int(1, 60)));
  const TimeNs longest_ns = random.uniform_int(1, 400);
  TimeNs arrival_ns = random.uniform_int(0, 50);
  for (std::size_t i = 0; i < records.size(); ++i) {
    RequestRecord& record = records[i];
    record.index = i;
    record.arrival_ns = record.queued_ns = arrival_ns;
    arrival_ns += random.uniform_int(0, 20);
    if (random.uniform_int(0, 9) == 0) continue;
    record.finish_ns = record.arrival_ns + random.uniform_int(0, longest_ns);
    record.outcome = Outcome::finished;
  }
  return records;
}

}  // namespace

TEST_CASE("a queue at 70 % load is stationary, one at 130 % is not") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    const auto calm = queue_at(0.7, 2000, seed);
    REQUIRE(windows_of(calm, calm.back().finish_ns, {}).stationarity.stationary);
    const auto growing = queue_at(1.3, 2000, seed);
    REQUIRE_FALSE(windows_of(growing, growing.back().finish_ns, {}).stationarity.stationary);
  }
}

TEST_CASE("a backlog that grows from an empty start averages 1 : 3 : 5 over the thirds") {
  // Without warm-up N(t) = (1 - 1 / 1.3) * 1.3 t / 10 ms grows linearly.
  const auto records = queue_at(1.3, 100'000, 1);
  const auto mean =
      windows_of(records, records.back().finish_ns, {.warmup_s = 0.0}).stationarity.mean_in_system;
  CHECK(mean[1] / mean[0] == Approx(3).margin(0.15));
  CHECK(mean[2] / mean[0] == Approx(5).margin(0.25));
}

TEST_CASE("windows take the requests that arrived in them") {
  // 11 requests at 0, 1, ..., 10 s; the first 10 % of the arrivals' span are 1 s.
  std::vector<RequestRecord> records(11);
  for (std::size_t i = 0; i < records.size(); ++i) {
    RequestRecord& record = records[i];
    record.index = i;
    record.arrival_ns = record.queued_ns = static_cast<TimeNs>(i) * kNsPerSecond;
    record.first_token_ns = record.finish_ns = record.arrival_ns + 3 * kNsPerSecond;
    record.output_tokens = 1;
    record.outcome = Outcome::finished;
  }
  const TimeNs end_ns = records.back().finish_ns;
  const WindowSummary by_default = windows_of(records, end_ns, {});
  CHECK(by_default.warmup.arrived == 1);
  CHECK(by_default.steady.arrived == 10);
  CHECK(by_default.steady.finished_inside == 8);  // at 3, 4, ..., 10 s
  CHECK(by_default.drain.arrived == 0);
  CHECK(by_default.drain.finished_inside == 3);

  const WindowSummary chosen = windows_of(records, end_ns, {.warmup_s = 2.5, .steady_end_s = 6});
  CHECK(chosen.warmup.arrived == 3);
  CHECK(chosen.steady.arrived == 3);  // at 3, 4, 5 s; 6 s is drain
  CHECK(chosen.drain.arrived == 5);
  CHECK(chosen.steady.arrival_rate == Approx(3 / 3.5));
}

TEST_CASE("the thirds are integrated as the records say, whoever stays over their edges") {
  RandomStream random(7, "records");
  for (int i = 0; i < 2000; ++i) {
    CAPTURE(i);
    const std::vector<RequestRecord> records = random_records(random);
    const WindowSummary summary = windows_of(records, 2000, {});
    const TimeNs from_ns = summary.steady.start_ns;
    const TimeNs third_ns = (summary.steady.end_ns - from_ns) / 3;
    for (std::size_t third = 0; third < 3; ++third) {
      const TimeNs begin_ns = from_ns + static_cast<TimeNs>(third) * third_ns;
      REQUIRE(summary.stationarity.integral_ns[third] ==
              population_integral_ns(records, begin_ns, begin_ns + third_ns));
    }
  }
}

TEST_CASE("a digest that windows take along is that of a pass of its own") {
  RandomStream random(8, "records");
  const std::vector<RequestRecord> records = random_records(random);
  Digest taken_along;
  taken_along.add(1);
  static_cast<void>(windows_of(records, 2000, {}, &taken_along));
  Digest apart;
  apart.add(1);
  for (const RequestRecord& record : records) add_record(apart, record);
  CHECK(taken_along.hex() == apart.hex());
}

TEST_CASE("the number in system is integrated from the records exactly") {
  // [5, 25) and [10, inf) over [0, 40): 20 + 30; over [20, 30): 5 + 10.
  std::vector<RequestRecord> records(2);
  records[0].arrival_ns = records[0].queued_ns = 5;
  records[0].finish_ns = 25;
  records[1].arrival_ns = records[1].queued_ns = 10;
  CHECK(population_integral_ns(records, 0, 40) == 50);
  CHECK(population_integral_ns(records, 20, 30) == 15);
  CHECK(sojourn_sum_ns(records, 40) == 50);
}

}  // namespace headroom::windows_test
