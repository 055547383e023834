#include "sim/study/sweep/run_row.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "sim/metrics/backlog_slope.hpp"
#include "sim/metrics/latency_metrics.hpp"
#include "sim/serving/oom.hpp"

namespace headroom {
namespace {

using Value = std::optional<double>;

double real(std::int64_t count) { return static_cast<double>(count); }

std::int64_t ooms_of(const RunResult& r) {
  std::int64_t all = r.budget.failure ? 1 : 0;
  for (const OomEntry& entry : r.summary.ooms) all += entry.count;
  return all;
}

// Of all that arrived: a request that was turned away or lost has kept no limit either.
Value goodput_share(const RunResult& r) {
  const ServingMetrics& m = r.summary.metrics;
  const double arrived = real(r.summary.requests.arrived);
  if (!m.request_goodput || arrived <= 0) return std::nullopt;
  return *m.request_goodput * m.duration / arrived;
}

Value hit_share(const RunResult& r) {
  const EngineSummary& e = r.summary.engine;
  if (!r.started || e.prefix_cache_queries <= 0) return std::nullopt;
  return real(e.prefix_cache_hits) / real(e.prefix_cache_queries);
}

double steady_in_system(const RunResult& r) {
  double in_system = 0;
  for (const double third : r.summary.windows.stationarity.mean_in_system) in_system += third / 3;
  return in_system;
}

Value slope_of(const RunResult& r, double BacklogSlope::*value) {
  if (!r.started || r.recorder->stream() != nullptr) return std::nullopt;  // it has no records
  const auto slope = backlog_slope(r.recorder->records(), r.summary.windows.steady);
  return slope ? Value(*slope.*value) : std::nullopt;
}

// A figure of a run that started.
Value if_started(const RunResult& r, double value) {
  return r.started ? Value(value) : std::nullopt;
}

using R = RunResult;

// clang-format off
const RunMetric kRunMetrics[] = {
    {"oom_count", "1", [](const R& r) -> Value { return real(ooms_of(r)); }},
    {"started", "0 or 1", [](const R& r) -> Value { return r.started ? 1 : 0; }},
    {"arrived", "requests", [](const R& r) -> Value { return real(r.summary.requests.arrived); }},
    {"completed", "requests", [](const R& r) -> Value { return real(r.summary.metrics.completed); }},
    {"rejected", "requests", [](const R& r) -> Value { return real(r.summary.requests.rejected); }},
    {"cancelled", "requests", [](const R& r) -> Value { return real(r.summary.requests.cancelled); }},
    {"lost_to_oom", "requests", [](const R& r) -> Value { return real(r.summary.requests.lost_to_oom); }},
    {"lost_to_fault", "requests", [](const R& r) -> Value { return real(r.summary.requests.lost_to_fault); }},
    {"unfinished", "requests", [](const R& r) -> Value { return real(r.summary.requests.unfinished); }},
    {"total_input_tokens", "tokens", [](const R& r) -> Value { return real(r.summary.metrics.total_input_tokens); }},
    {"total_output_tokens", "tokens", [](const R& r) -> Value { return real(r.summary.metrics.total_output_tokens); }},
    {"request_throughput", "requests/s", [](const R& r) -> Value { return r.summary.metrics.request_throughput; }},
    {"output_throughput", "tokens/s", [](const R& r) -> Value { return r.summary.metrics.output_throughput; }},
    {"total_token_throughput", "tokens/s", [](const R& r) -> Value { return r.summary.metrics.total_token_throughput; }},
    {"request_goodput", "requests/s", [](const R& r) -> Value { return r.summary.metrics.request_goodput; }},
    {"goodput_share", "share", goodput_share},
    {"kv_tokens", "tokens", [](const R& r) -> Value { return real(r.pool_tokens); }},
    {"kv_pool_bytes", "bytes", [](const R& r) -> Value { return real(r.budget.kv_pool_bytes); }},
    {"max_kv_used_share", "share", [](const R& r) -> Value { return r.summary.memory.peak_utilisation; }},
    {"mean_kv_used_share", "share", [](const R& r) -> Value { return r.summary.memory.mean_utilisation; }},
    {"mean_kv_reserved_share", "share", [](const R& r) -> Value { return r.summary.memory.mean_reserved; }},
    {"mean_kv_internal_share", "share", [](const R& r) -> Value { return r.summary.memory.mean_internal; }},
    {"mean_kv_external_share", "share", [](const R& r) -> Value { return r.summary.memory.mean_external; }},
    {"duration", "s", [](const R& r) { return if_started(r, r.summary.metrics.duration); }},
    {"preemptions", "1", [](const R& r) { return if_started(r, real(r.summary.engine.preemptions)); }},
    {"recomputed_tokens", "tokens", [](const R& r) { return if_started(r, real(r.summary.engine.recomputed_tokens)); }},
    {"steps", "1", [](const R& r) { return if_started(r, real(r.summary.engine.steps)); }},
    {"busy_s", "s", [](const R& r) { return if_started(r, r.summary.engine.busy_s); }},
    {"prefix_cache_hit_share", "share", hit_share},
    {"steady_arrival_rate", "requests/s", [](const R& r) { return if_started(r, r.summary.windows.steady.arrival_rate); }},
    {"steady_finish_rate", "requests/s", [](const R& r) { return if_started(r, r.summary.windows.steady.finish_rate); }},
    {"steady_in_system", "requests", [](const R& r) { return if_started(r, steady_in_system(r)); }},
    {"backlog_slope_per_s", "requests/s", [](const R& r) { return slope_of(r, &BacklogSlope::per_s); }},
    {"backlog_slope_low_per_s", "requests/s", [](const R& r) { return slope_of(r, &BacklogSlope::low_per_s); }},
    {"backlog_slope_high_per_s", "requests/s", [](const R& r) { return slope_of(r, &BacklogSlope::high_per_s); }}};
// clang-format on

// By kind, in the order of their first moments.
void add_ooms(const RunResult& result, StoredRun& row) {
  const auto count = [&row](OomKind kind, std::int64_t number, TimeNs time_ns) {
    const std::string name(name_of(kind));
    auto found = std::ranges::find(row.ooms, name, &StoredOom::kind);
    if (found == row.ooms.end()) {
      found = row.ooms.insert(found, {name, 0, static_cast<double>(time_ns) * 1e-9});
    }
    found->count += number;
  };
  if (result.budget.failure) count(OomKind::startup, 1, 0);
  for (const OomEntry& entry : result.summary.ooms) count(entry.kind, entry.count, entry.time_ns);
}

}  // namespace

std::span<const RunMetric> run_metrics() { return kRunMetrics; }

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  for (const RunMetric& metric : kRunMetrics) names.emplace_back(metric.name);
  for (const LatencyMetric& metric : latency_metrics()) names.emplace_back(metric.name);
  return names;
}

StoredRun row_of(const RunResult& result, std::string summary) {
  StoredRun row;
  row.done = true;
  row.digest = result.digest;
  row.summary = std::move(summary);
  add_ooms(result, row);
  for (const RunMetric& metric : kRunMetrics) {
    if (const Value value = metric.value(result)) row.metrics.emplace_back(metric.name, *value);
  }
  if (!result.started) return row;
  row.stationary = result.summary.windows.stationarity.stationary;
  if (!*row.stationary || result.summary.metrics.completed == 0) return row;
  for (const LatencyMetric& metric : latency_metrics()) {
    row.metrics.emplace_back(metric.name, result.summary.metrics.*metric.value);
  }
  return row;
}

}  // namespace headroom
