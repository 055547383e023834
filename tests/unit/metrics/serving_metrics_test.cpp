#include "sim/metrics/serving_metrics.hpp"

#include <catch2/catch.hpp>
#include <vector>

namespace headroom::serving_metrics_test {

namespace {

constexpr TimeNs kMs = 1'000'000;

RequestRecord finished(std::uint64_t index, TimeNs arrival_ms, std::int32_t prompt,
                       std::int32_t output, TimeNs first_ms, TimeNs finish_ms) {
  RequestRecord record;
  record.index = index;
  record.arrival_ns = record.queued_ns = arrival_ms * kMs;
  record.first_token_ns = first_ms * kMs;
  record.finish_ns = finish_ms * kMs;
  record.prompt_tokens = prompt;
  record.output_tokens = output;
  record.outcome = Outcome::finished;
  return record;
}

// VERIFICATION V1: TTFT 34 and 29, finish at 57 and 46, so E2EL 57 and 41.
std::vector<RequestRecord> two_requests() {
  return {finished(0, 0, 10, 3, 34, 57), finished(1, 5, 4, 2, 34, 46)};
}

}  // namespace

TEST_CASE("the metrics of the worked example") {
  const auto records = two_requests();
  const ServingMetrics m = serving_metrics(records, nullptr, {});
  CHECK(m.completed == 2);
  CHECK(m.duration == Approx(0.057));
  CHECK(m.total_input_tokens == 14);
  CHECK(m.total_output_tokens == 5);
  CHECK(m.request_throughput == Approx(2 / 0.057));
  CHECK(m.output_throughput == Approx(5 / 0.057));
  CHECK(m.total_token_throughput == Approx(19 / 0.057));
  CHECK_FALSE(m.request_goodput);
  CHECK_FALSE(m.has_itl);
  CHECK(m.mean_ttft_ms == Approx(31.5));
  CHECK(m.median_ttft_ms == Approx(31.5));
  CHECK(m.std_ttft_ms == Approx(2.5));
  CHECK(m.p99_ttft_ms == Approx(33.95));   // 29 + 0.99 * 5
  CHECK(m.mean_tpot_ms == Approx(11.75));  // (57 - 34) / 2 and (46 - 34) / 1
  CHECK(m.std_tpot_ms == Approx(0.25));
  CHECK(m.p90_e2el_ms == Approx(55.4));  // 41 + 0.9 * 16
}

TEST_CASE("a request of one token has no TPOT") {
  auto records = two_requests();
  records.push_back(finished(2, 6, 4, 1, 40, 40));
  const ServingMetrics m = serving_metrics(records, nullptr, {});
  CHECK(m.completed == 3);
  CHECK(m.mean_tpot_ms == Approx(11.75));
}

TEST_CASE("client latency is in TTFT and E2EL, not in TPOT") {
  const auto records = two_requests();
  const ServingMetrics m = serving_metrics(records, nullptr, {.client_latency = {3 * kMs}});
  CHECK(m.mean_ttft_ms == Approx(34.5));
  CHECK(m.mean_e2el_ms == Approx(52.0));
  CHECK(m.mean_tpot_ms == Approx(11.75));
  CHECK(m.duration == Approx(0.057));
}

TEST_CASE("goodput counts requests that keep every limit, the limit included") {
  auto records = two_requests();
  const auto good = [&](GoodputLimits limits) {
    return *serving_metrics(records, nullptr, {.goodput = limits}).request_goodput * 0.057;
  };
  CHECK(good({.ttft_ms = 34}) == Approx(2));
  CHECK(good({.ttft_ms = 33.999999}) == Approx(1));
  CHECK(good({.tpot_ms = 11.5}) == Approx(1));
  CHECK(good({.ttft_ms = 30, .tpot_ms = 11.5}) == Approx(0));  // nobody keeps both
  CHECK(good({.e2el_ms = 57}) == Approx(2));
  records.push_back(finished(2, 6, 4, 1, 40, 40));
  CHECK(good({.tpot_ms = 0}) == Approx(1));  // one token: TPOT 0
}

TEST_CASE("requests that did not finish count in no metric") {
  auto records = two_requests();
  records.push_back(finished(2, 7, 4, 9, 40, 900));
  records.back().outcome = Outcome::lost_to_oom;
  const ServingMetrics m = serving_metrics(records, nullptr, {});
  CHECK(m.completed == 2);
  CHECK(m.duration == Approx(0.057));
  CHECK(m.total_output_tokens == 5);
}

TEST_CASE("no finished request: all zero, and goodput 0 when asked for") {
  const ServingMetrics m = serving_metrics({}, nullptr, {.goodput = {.ttft_ms = 1}});
  CHECK(m.duration == 0.0);
  CHECK(m.p99_ttft_ms == 0.0);
  CHECK(m.request_goodput == 0.0);
}

TEST_CASE("the metrics of parts are those of their records alone, and all are the whole") {
  auto records = two_requests();
  records.push_back(finished(2, 6, 4, 1, 40, 40));
  records.push_back(finished(3, 7, 4, 9, 40, 900));
  records.back().outcome = Outcome::lost_to_oom;
  records.push_back(finished(4, 9, 7, 8, 60, 340));
  const ServingOptions options{.client_latency = {kMs}, .goodput = {.ttft_ms = 35}};
  const std::vector<std::size_t> sizes{1, 0, 2, 2};
  const MetricsByPart metrics = serving_metrics_by_part(records, sizes, nullptr, options);
  const auto same = [](const ServingMetrics& a, const ServingMetrics& b) {
    CHECK(a.completed == b.completed);
    CHECK(a.duration == b.duration);
    CHECK(a.total_token_throughput == b.total_token_throughput);
    CHECK(a.request_goodput == b.request_goodput);
    CHECK(a.mean_ttft_ms == b.mean_ttft_ms);
    CHECK(a.p99_ttft_ms == b.p99_ttft_ms);
    CHECK(a.std_tpot_ms == b.std_tpot_ms);
    CHECK(a.median_tpot_ms == b.median_tpot_ms);
    CHECK(a.mean_e2el_ms == b.mean_e2el_ms);
    CHECK(a.p95_e2el_ms == b.p95_e2el_ms);
  };
  same(metrics.all, serving_metrics(records, nullptr, options));
  REQUIRE(metrics.parts.size() == sizes.size());
  CHECK(metrics.all.completed == 4);
  CHECK(metrics.parts.back().completed == 1);
  std::size_t begin = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    same(metrics.parts[i],
         serving_metrics(std::span(records).subspan(begin, sizes[i]), nullptr, options));
    begin += sizes[i];
  }
}

}  // namespace headroom::serving_metrics_test
