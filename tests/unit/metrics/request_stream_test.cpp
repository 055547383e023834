#include "sim/metrics/request_stream.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "sim/kernel/random.hpp"
#include "sim/metrics/record_totals.hpp"
#include "tests/support/record_sums.hpp"

namespace headroom::request_stream_test {

namespace {

struct Traffic {
  std::vector<RequestRecord> by_arrival;
  std::vector<RequestRecord> by_leaving;
  TimeNs end_ns = 0;
};

// Requests of two classes with answers of random length, some of which are rejected, cancelled or
// never done. Each takes `growth_ns` longer than the one before.
Traffic random_traffic(std::uint64_t seed, std::size_t requests, double growth_ns = 0,
                       double never_done = 0.01) {
  RandomStream random(seed, "traffic");
  Traffic traffic;
  TimeNs now_ns = 5'000'000'000;
  for (std::size_t i = 0; i < requests; ++i) {
    now_ns += static_cast<TimeNs>(random.exponential(2e7));
    RequestRecord record;
    record.index = i;
    record.arrival_ns = record.queued_ns = now_ns;
    record.prompt_tokens = 100;
    record.class_id = static_cast<std::uint8_t>(i % 2);
    record.first_token_ns = now_ns + 1 + static_cast<TimeNs>(random.exponential(1e8));
    record.output_tokens = 1 + static_cast<std::int32_t>(random.exponential(50));
    record.finish_ns = record.first_token_ns + static_cast<TimeNs>(random.exponential(5e8)) +
                       static_cast<TimeNs>(growth_ns * static_cast<double>(i));
    if (record.output_tokens == 1) record.finish_ns = record.first_token_ns;
    record.outcome = Outcome::finished;
    const double fate = random.uniform();
    if (fate < 0.02) {
      record.outcome = Outcome::rejected;
      record.queued_ns = record.first_token_ns = -1;
      record.finish_ns = record.arrival_ns;
      record.output_tokens = 0;
    } else if (fate < 0.04) {
      record.outcome = Outcome::cancelled;
    } else if (fate < 0.04 + never_done) {
      record.outcome = Outcome::unfinished;
      record.finish_ns = -1;
    }
    traffic.by_arrival.push_back(record);
  }
  traffic.by_leaving = traffic.by_arrival;
  std::ranges::stable_sort(traffic.by_leaving, [](const auto& a, const auto& b) {
    const auto leaves = [](const auto& r) { return r.finish_ns < 0 ? kNever : r.finish_ns; };
    return leaves(a) < leaves(b);
  });
  for (const RequestRecord& record : traffic.by_arrival) {
    traffic.end_ns = std::max(traffic.end_ns, record.finish_ns);
  }
  return traffic;
}

RequestStream stream_of(const Traffic& traffic, const ServingOptions& serving,
                        const WindowOptions& windows = {}) {
  RequestStream stream(serving, windows, 2);
  for (const RequestRecord& record : traffic.by_leaving) stream.add(record);
  return stream;
}

void check_equal(const ServingMetrics& streamed, const ServingMetrics& exact) {
  CHECK(streamed.completed == exact.completed);
  CHECK(streamed.total_input_tokens == exact.total_input_tokens);
  CHECK(streamed.total_output_tokens == exact.total_output_tokens);
  CHECK(streamed.duration == exact.duration);
  CHECK(streamed.request_throughput == exact.request_throughput);
  CHECK(streamed.output_throughput == exact.output_throughput);
  CHECK(streamed.request_goodput == exact.request_goodput);
  CHECK(streamed.mean_ttft_ms == exact.mean_ttft_ms);
  CHECK(streamed.std_ttft_ms == exact.std_ttft_ms);
  CHECK(streamed.mean_tpot_ms == exact.mean_tpot_ms);
  CHECK(streamed.std_e2el_ms == exact.std_e2el_ms);
  // Every value is taken as the middle of its bucket.
  for (const auto percentile :
       {&ServingMetrics::median_ttft_ms, &ServingMetrics::p99_ttft_ms, &ServingMetrics::p90_tpot_ms,
        &ServingMetrics::median_e2el_ms, &ServingMetrics::p95_e2el_ms}) {
    CHECK(streamed.*percentile == Approx(exact.*percentile).epsilon(0.0006));
  }
}

}  // namespace

TEST_CASE("a stream of records sums up to what their table says") {
  ServingOptions serving;
  serving.client_latency.request_ns = 3'000'000;
  serving.goodput.ttft_ms = 150;
  const Traffic traffic = random_traffic(GENERATE(1U, 2U, 3U), 20'000);
  const RequestStream stream = stream_of(traffic, serving);
  check_equal(stream.total().metrics(nullptr, true),
              serving_metrics(traffic.by_arrival, nullptr, serving));
  CHECK(stream.total().counts().arrived == 20'000);
  CHECK(stream.total().counts().rejected ==
        std::ranges::count(traffic.by_arrival, Outcome::rejected, &RequestRecord::outcome));
  for (std::size_t id = 0; id < 2; ++id) {
    std::vector<RequestRecord> own;
    std::ranges::copy_if(traffic.by_arrival, std::back_inserter(own),
                         [&](const RequestRecord& record) { return record.class_id == id; });
    check_equal(stream.classes().at(id).metrics(nullptr, true),
                serving_metrics(own, nullptr, serving));
  }
}

TEST_CASE("what is known of all records is the sum of what each says") {
  const Traffic traffic = random_traffic(4, 20'000);
  RecordTotals totals;
  for (const RequestRecord& record : traffic.by_leaving) totals.add(record);
  CHECK(totals.counts().arrived == 20'000);
  CHECK(totals.counts().rejected ==
        std::ranges::count(traffic.by_arrival, Outcome::rejected, &RequestRecord::outcome));
  CHECK(totals.sojourn_sum_ns(traffic.end_ns) ==
        sojourn_sum_ns(traffic.by_arrival, traffic.end_ns));
  CHECK(totals.queued_without_end() ==
        std::ranges::count_if(traffic.by_arrival, [](const RequestRecord& record) {
          return record.queued_ns >= 0 && record.finish_ns < 0;
        }));
}

TEST_CASE("the windows of a stream hold what came and went between their edges") {
  const WindowOptions options = GENERATE(WindowOptions{}, WindowOptions{.warmup_s = 100.0},
                                         WindowOptions{.warmup_s = 50.0, .steady_end_s = 200.0});
  const Traffic traffic = random_traffic(7, 20'000);
  const WindowSummary windows = stream_of(traffic, {}, options).windows(traffic.end_ns);
  const TimeNs first_ns = traffic.by_arrival.front().arrival_ns;
  const TimeNs span_ns = traffic.by_arrival.back().arrival_ns - first_ns;

  CHECK(windows.warmup.start_ns == first_ns);
  const double asked_s = options.warmup_s.value_or(1e-10 * static_cast<double>(span_ns));
  const auto warmup_ns = static_cast<double>(windows.warmup.end_ns - first_ns);
  CHECK(warmup_ns == Approx(asked_s * 1e9).margin(0.03 * static_cast<double>(span_ns)));
  CHECK(windows.steady.start_ns == windows.warmup.end_ns);
  CHECK(windows.drain.start_ns == windows.steady.end_ns);
  CHECK(windows.drain.end_ns == traffic.end_ns + 1);
  for (const WindowReport& window : {windows.warmup, windows.steady, windows.drain}) {
    const auto inside = [&](TimeNs t) { return t >= window.start_ns && t < window.end_ns; };
    CHECK(window.arrived ==
          std::ranges::count_if(traffic.by_arrival, inside, &RequestRecord::arrival_ns));
    CHECK(window.finished_inside ==
          std::ranges::count_if(traffic.by_arrival, [&](const RequestRecord& record) {
            return record.outcome == Outcome::finished && inside(record.finish_ns);
          }));
  }
  Int128 present = 0;
  for (const Int128 third : windows.stationarity.integral_ns) present += third;
  CHECK(present ==
        population_integral_ns(traffic.by_arrival, windows.steady.start_ns, windows.steady.end_ns));
}

TEST_CASE("a stream tells a backlog that grows from one that does not") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    const Traffic calm = random_traffic(seed, 3000, 0, 0);
    CHECK(stream_of(calm, {}).windows(calm.end_ns).stationarity.stationary);
    const Traffic growing = random_traffic(seed, 3000, 1e6, 0);
    CHECK_FALSE(stream_of(growing, {}).windows(growing.end_ns).stationarity.stationary);
  }
}

TEST_CASE("a stream of nothing, of one request, of requests that all come at once") {
  CHECK(RequestStream({}, {}, 1).windows(0).steady.arrived == 0);
  CHECK(RequestStream({}, {}, 1).total().counts().arrived == 0);
  for (const std::size_t requests : {1U, 100U}) {
    Traffic traffic;
    for (std::size_t i = 0; i < requests; ++i) {
      RequestRecord record;
      record.index = i;
      record.queued_ns = 0;
      record.first_token_ns = record.finish_ns = static_cast<TimeNs>(i + 1) * 3'000'000'000;
      record.output_tokens = 1;
      record.outcome = Outcome::finished;
      traffic.by_leaving.push_back(record);
    }
    traffic.end_ns = traffic.by_leaving.back().finish_ns;
    const RequestStream stream = stream_of(traffic, {});
    const WindowSummary windows = stream.windows(traffic.end_ns);
    const auto all = static_cast<std::int64_t>(requests);
    CHECK(windows.warmup.arrived + windows.steady.arrived == all);
    CHECK(windows.drain.arrived == 0);
    CHECK(stream.total().metrics(nullptr, false).completed == all);
    CHECK(windows.drain.end_ns == traffic.end_ns + 1);
  }
}

}  // namespace headroom::request_stream_test
