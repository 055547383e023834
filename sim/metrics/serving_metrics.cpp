#include "sim/metrics/serving_metrics.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "sim/kernel/check.hpp"
#include "sim/metrics/record_walk.hpp"
#include "sim/metrics/statistics.hpp"

namespace headroom {

namespace {

bool keeps(const std::optional<double>& limit_ms, TimeNs latency_ns, std::int64_t per = 1) {
  return !limit_ms || static_cast<double>(latency_ns) <= *limit_ms * 1e6 * static_cast<double>(per);
}

bool is_good(const RequestRecord& record, TimeNs ttft_ns, TimeNs e2el_ns,
             const GoodputLimits& limits) {
  const std::int64_t gaps = record.output_tokens - 1;
  return keeps(limits.ttft_ms, ttft_ns) && keeps(limits.e2el_ms, e2el_ns) &&
         (gaps < 1 || keeps(limits.tpot_ms, e2el_ns - ttft_ns, gaps));
}

TimeNs ttft_ns_of(const RequestRecord& record, const ServingOptions& options) {
  return record.first_token_ns - record.arrival_ns +
         options.client_latency.of(record.prompt_tokens);
}

TimeNs e2el_ns_of(const RequestRecord& record, const ServingOptions& options) {
  return record.finish_ns - record.arrival_ns + options.client_latency.of(record.prompt_tokens);
}

std::optional<std::int64_t> tpot_of(const RequestRecord& record) {
  if (record.output_tokens < 2) return std::nullopt;
  return ((record.finish_ns - record.first_token_ns) << kTpotBits) / (record.output_tokens - 1);
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

RequestLatencies latencies_of(const RequestRecord& record, const ServingOptions& options) {
  RequestLatencies latencies;
  latencies.ttft_ns = ttft_ns_of(record, options);
  latencies.e2el_ns = e2el_ns_of(record, options);
  latencies.tpot = tpot_of(record);
  latencies.good =
      is_good(record, latencies.ttft_ns, latencies.e2el_ns, options.limits_of(record.class_id));
  return latencies;
}

void ServingSums::add(const RequestRecord& record, bool is_good) {
  ++completed;
  if (is_good) ++good;
  input_tokens += record.prompt_tokens;
  output_tokens += record.output_tokens;
  last_finish_ns = std::max(last_finish_ns, record.finish_ns);
}

void ServingSums::merge(const ServingSums& other) {
  completed += other.completed;
  good += other.good;
  input_tokens += other.input_tokens;
  output_tokens += other.output_tokens;
  first_arrival_ns = std::min(first_arrival_ns, other.first_arrival_ns);
  last_finish_ns = std::max(last_finish_ns, other.last_finish_ns);
}

ServingMetrics metrics_of(const ServingSums& sums, const ItlMeter* itl, bool with_goodput) {
  ServingMetrics metrics;
  metrics.completed = sums.completed;
  metrics.total_input_tokens = sums.input_tokens;
  metrics.total_output_tokens = sums.output_tokens;
  if (itl != nullptr) set_itl(metrics, *itl);
  if (with_goodput) metrics.request_goodput = 0.0;
  if (sums.completed == 0) return metrics;

  const TimeNs duration_ns = sums.last_finish_ns - sums.first_arrival_ns;
  metrics.duration = static_cast<double>(duration_ns) * 1e-9;
  if (duration_ns > 0) {
    const std::int64_t tokens = sums.input_tokens + sums.output_tokens;
    metrics.request_throughput = static_cast<double>(sums.completed) / metrics.duration;
    metrics.output_throughput = static_cast<double>(sums.output_tokens) / metrics.duration;
    metrics.total_token_throughput = static_cast<double>(tokens) / metrics.duration;
    if (with_goodput) {
      metrics.request_goodput = static_cast<double>(sums.good) / metrics.duration;
    }
  }
  return metrics;
}

void set_latencies(ServingMetrics& metrics, const ServingLatencies& latencies) {
  set_ttft(metrics, latencies.ttft);
  set_tpot(metrics, latencies.tpot);
  set_e2el(metrics, latencies.e2el);
}

namespace {

using Records = std::span<const RequestRecord>;

struct Latencies {
  LatencyByPart ttft;
  LatencyByPart tpot;
  LatencyByPart e2el;

  explicit Latencies(std::size_t parts) : ttft(parts), tpot(parts), e2el(parts) {}
  // Calls take(latency, value) for those that the record of a finished request has.
  template <typename Take>
  void each_of(const RequestRecord& record, const ServingOptions& options, Take take) {
    take(ttft, ttft_ns_of(record, options));
    if (const std::optional<std::int64_t> value = tpot_of(record)) take(tpot, *value);
    take(e2el, e2el_ns_of(record, options));
  }
  [[nodiscard]] ServingLatencies of_all() {
    return {ttft.of_all(kMsPerNs), tpot.of_all(kMsPerTpotUnit), e2el.of_all(kMsPerNs)};
  }
  [[nodiscard]] ServingLatencies of_part(std::size_t i) {
    return {ttft.of_part(i, kMsPerNs), tpot.of_part(i, kMsPerTpotUnit), e2el.of_part(i, kMsPerNs)};
  }
};

template <typename Visit>
void walk_finished(Records records, Visit visit) {
  walk(records, [&](const RequestRecord& record) {
    if (record.outcome == Outcome::finished) visit(record);
  });
}

}  // namespace

MetricsByPart serving_metrics_by_part(Records records, std::span<const std::size_t> sizes,
                                      const ItlMeter* itl, const ServingOptions& options) {
  std::vector<Records> parts;
  std::size_t begin = 0;
  for (const std::size_t size : sizes) {
    parts.push_back(records.subspan(begin, size));
    begin += size;
  }
  HEADROOM_CHECK(begin == records.size(), "parts of another number of records");
  const bool with_goodput = options.has_goodput();
  std::vector<ServingSums> sums(parts.size());
  Latencies latencies(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].empty()) sums[i].note_arrival(parts[i].front());
    walk_finished(parts[i], [&](const RequestRecord& record) {
      sums[i].add(record, !with_goodput || latencies_of(record, options).good);
      latencies.each_of(record, options, [i](LatencyByPart& latency, std::int64_t value) {
        latency.count(i, value);
      });
    });
  }
  for (LatencyByPart* latency : {&latencies.ttft, &latencies.tpot, &latencies.e2el}) {
    latency->end_first_pass();
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    walk_finished(parts[i], [&](const RequestRecord& record) {
      latencies.each_of(record, options, [i](LatencyByPart& latency, std::int64_t value) {
        latency.keep(i, value);
      });
    });
  }

  MetricsByPart metrics;
  ServingSums all;
  const auto metrics_with = [&](const ServingSums& own, const ItlMeter* its_itl,
                                const ServingLatencies& its_latencies) {
    ServingMetrics result = metrics_of(own, its_itl, with_goodput);
    if (result.completed > 0) set_latencies(result, its_latencies);
    return result;
  };
  for (std::size_t i = 0; i < parts.size(); ++i) {
    all.merge(sums[i]);
    metrics.parts.push_back(metrics_with(sums[i], nullptr, latencies.of_part(i)));
  }
  metrics.all = metrics_with(all, itl, latencies.of_all());
  return metrics;
}

ServingMetrics serving_metrics(Records records, const ItlMeter* itl,
                               const ServingOptions& options) {
  const std::array<std::size_t, 1> all{records.size()};
  return serving_metrics_by_part(records, all, itl, options).all;
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
