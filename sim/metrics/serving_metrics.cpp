#include "sim/metrics/serving_metrics.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/kernel/check.hpp"
#include "sim/metrics/statistics.hpp"

namespace headroom {

namespace {

constexpr double kMsPerNs = 1e-6;
// TPOT is a quotient: it is kept in whole 2^-10 ns, so that its sums are exact too.
constexpr int kTpotBits = 10;

struct Latencies {
  std::vector<std::int64_t> ttft_ns;
  std::vector<std::int64_t> e2el_ns;
  std::vector<std::int64_t> tpot;  // 2^-10 ns
};

bool keeps(const std::optional<double>& limit_ms, TimeNs latency_ns, std::int64_t per = 1) {
  return !limit_ms || static_cast<double>(latency_ns) <= *limit_ms * 1e6 * static_cast<double>(per);
}

bool is_good(const RequestRecord& record, TimeNs ttft_ns, TimeNs e2el_ns,
             const GoodputLimits& limits) {
  const std::int64_t gaps = record.output_tokens - 1;
  return keeps(limits.ttft_ms, ttft_ns) && keeps(limits.e2el_ms, e2el_ns) &&
         (gaps < 1 || keeps(limits.tpot_ms, e2el_ns - ttft_ns, gaps));
}

void set_ttft(ServingMetrics& m, const LatencyStats& s) {
  m.mean_ttft_ms = s.mean;
  m.median_ttft_ms = s.median;
  m.std_ttft_ms = s.std;
  m.p90_ttft_ms = s.p90;
  m.p95_ttft_ms = s.p95;
  m.p99_ttft_ms = s.p99;
}

void set_tpot(ServingMetrics& m, const LatencyStats& s) {
  m.mean_tpot_ms = s.mean;
  m.median_tpot_ms = s.median;
  m.std_tpot_ms = s.std;
  m.p90_tpot_ms = s.p90;
  m.p95_tpot_ms = s.p95;
  m.p99_tpot_ms = s.p99;
}

void set_e2el(ServingMetrics& m, const LatencyStats& s) {
  m.mean_e2el_ms = s.mean;
  m.median_e2el_ms = s.median;
  m.std_e2el_ms = s.std;
  m.p90_e2el_ms = s.p90;
  m.p95_e2el_ms = s.p95;
  m.p99_e2el_ms = s.p99;
}

void set_itl(ServingMetrics& m, const ItlMeter& itl) {
  m.has_itl = true;
  if (itl.count() == 0) return;
  constexpr double kMsPerTick = kMsPerNs / static_cast<double>(kTicksPerNs);
  const auto count = static_cast<double>(itl.count());
  m.mean_itl_ms = static_cast<double>(itl.sum_ticks()) / count * kMsPerTick;
  m.std_itl_ms = population_std(itl.count(), itl.sum_ticks(), itl.sum_squares()) * kMsPerTick;
  const LogHistogram& histogram = itl.histogram_ns();
  m.median_itl_ms = histogram.percentile(50) * kMsPerNs;
  m.p90_itl_ms = histogram.percentile(90) * kMsPerNs;
  m.p95_itl_ms = histogram.percentile(95) * kMsPerNs;
  m.p99_itl_ms = histogram.percentile(99) * kMsPerNs;
}

}  // namespace

bool ServingOptions::has_goodput() const {
  return goodput.any() || std::any_of(class_goodput.begin(), class_goodput.end(),
                                      [](const GoodputLimits& limits) { return limits.any(); });
}

ServingMetrics serving_metrics(std::span<const RequestRecord> records, const ItlMeter* itl,
                               const ServingOptions& options) {
  ServingMetrics metrics;
  Latencies latencies;
  latencies.ttft_ns.reserve(records.size());
  latencies.e2el_ns.reserve(records.size());
  latencies.tpot.reserve(records.size());
  TimeNs last_finish_ns = 0;
  std::int64_t good = 0;
  for (const RequestRecord& record : records) {
    if (record.outcome != Outcome::finished) continue;
    const TimeNs decode_ns = record.finish_ns - record.first_token_ns;
    const TimeNs ttft_ns = record.first_token_ns - record.arrival_ns + options.client_latency_ns;
    latencies.ttft_ns.push_back(ttft_ns);
    latencies.e2el_ns.push_back(ttft_ns + decode_ns);
    if (record.output_tokens > 1) {
      latencies.tpot.push_back((decode_ns << kTpotBits) / (record.output_tokens - 1));
    }
    if (is_good(record, ttft_ns, ttft_ns + decode_ns, options.limits_of(record.class_id))) {
      ++good;
    }
    metrics.total_input_tokens += record.prompt_tokens;
    metrics.total_output_tokens += record.output_tokens;
    last_finish_ns = std::max(last_finish_ns, record.finish_ns);
  }
  metrics.completed = static_cast<std::int64_t>(latencies.ttft_ns.size());
  if (itl != nullptr) set_itl(metrics, *itl);
  const bool with_goodput = options.has_goodput();
  if (with_goodput) metrics.request_goodput = 0.0;
  if (metrics.completed == 0) return metrics;

  const TimeNs duration_ns = last_finish_ns - records.front().arrival_ns;
  metrics.duration = static_cast<double>(duration_ns) * 1e-9;
  if (duration_ns > 0) {
    const std::int64_t tokens = metrics.total_input_tokens + metrics.total_output_tokens;
    metrics.request_throughput = static_cast<double>(metrics.completed) / metrics.duration;
    metrics.output_throughput = static_cast<double>(metrics.total_output_tokens) / metrics.duration;
    metrics.total_token_throughput = static_cast<double>(tokens) / metrics.duration;
    if (with_goodput) {
      metrics.request_goodput = static_cast<double>(good) / metrics.duration;
    }
  }
  set_ttft(metrics, statistics_of(latencies.ttft_ns, kMsPerNs));
  set_e2el(metrics, statistics_of(latencies.e2el_ns, kMsPerNs));
  set_tpot(metrics, statistics_of(latencies.tpot, kMsPerNs / (1 << kTpotBits)));
  return metrics;
}

double metric_of(const ServingMetrics& metrics, std::string_view name) {
  using M = ServingMetrics;
  static constexpr std::pair<std::string_view, double M::*> kMetrics[] = {
      {"mean_ttft_ms", &M::mean_ttft_ms},     {"median_ttft_ms", &M::median_ttft_ms},
      {"p90_ttft_ms", &M::p90_ttft_ms},       {"mean_tpot_ms", &M::mean_tpot_ms},
      {"median_tpot_ms", &M::median_tpot_ms}, {"p90_tpot_ms", &M::p90_tpot_ms},
      {"mean_e2el_ms", &M::mean_e2el_ms},     {"median_e2el_ms", &M::median_e2el_ms},
      {"p90_e2el_ms", &M::p90_e2el_ms},       {"output_throughput", &M::output_throughput}};
  for (const auto& [known, member] : kMetrics) {
    if (known == name) return metrics.*member;
  }
  HEADROOM_CHECK(false, "no such metric");
  return 0;
}

}  // namespace headroom
