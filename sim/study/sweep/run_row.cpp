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
Value goodput_share(const RunFigures& f) {
  const RunResult& r = f.run;
  const ServingMetrics& m = r.summary.metrics;
  const double arrived = real(r.summary.requests.arrived);
  if (!m.request_goodput || arrived <= 0) return std::nullopt;
  return *m.request_goodput * m.duration / arrived;
}

Value hit_share(const RunFigures& f) {
  const RunResult& r = f.run;
  const EngineSummary& e = r.summary.engine;
  if (!r.started || e.prefix_cache_queries <= 0) return std::nullopt;
  return real(e.prefix_cache_hits) / real(e.prefix_cache_queries);
}

Value steady_in_system(const RunFigures& f) {
  const RunResult& r = f.run;
  if (!r.started) return std::nullopt;
  double in_system = 0;
  for (const double third : r.summary.windows.stationarity.mean_in_system) in_system += third / 3;
  return in_system;
}

std::optional<BacklogSlope> slope_of(const RunResult& r) {
  if (!r.started || r.recorder->stream() != nullptr) return std::nullopt;  // it has no records
  return backlog_slope(r.recorder->records(), r.summary.windows.steady);
}

using F = RunFigures;
using R = RunResult;

// A figure of every run, and one of a run that started: by the members that lead to it.
template <auto... Path>
Value figure(const F& f) {
  const auto& value = (f.run.*....*Path);
  if constexpr (requires { *value; }) {
    return value;
  } else {
    return static_cast<double>(value);
  }
}
template <auto... Path>
Value if_started(const F& f) {
  return f.run.started ? figure<Path...>(f) : std::nullopt;
}

template <auto Member>
constexpr auto request = figure<&R::summary, &RunSummary::requests, Member>;
template <auto Member>
constexpr auto serving = figure<&R::summary, &RunSummary::metrics, Member>;
template <auto Member>
constexpr auto memory = figure<&R::summary, &RunSummary::memory, Member>;
template <auto Member>
constexpr auto engine = if_started<&R::summary, &RunSummary::engine, Member>;
template <auto Member>
constexpr auto steady =
    if_started<&R::summary, &RunSummary::windows, &WindowSummary::steady, Member>;
template <auto Member>
constexpr auto slope = [](const F& f) { return f.slope ? Value(*f.slope.*Member) : std::nullopt; };

using Q = RequestCounts;
using M = ServingMetrics;

const RunMetric kRunMetrics[] = {
    {"oom_count", "1", [](const F& f) -> Value { return real(ooms_of(f.run)); }},
    {"started", "0 or 1", [](const F& f) -> Value { return f.run.started ? 1 : 0; }},
    {"arrived", "requests", request<&Q::arrived>},
    {"completed", "requests", serving<&M::completed>},
    {"rejected", "requests", request<&Q::rejected>},
    {"cancelled", "requests", request<&Q::cancelled>},
    {"lost_to_oom", "requests", request<&Q::lost_to_oom>},
    {"lost_to_fault", "requests", request<&Q::lost_to_fault>},
    {"unfinished", "requests", request<&Q::unfinished>},
    {"total_input_tokens", "tokens", serving<&M::total_input_tokens>},
    {"total_output_tokens", "tokens", serving<&M::total_output_tokens>},
    {"request_throughput", "requests/s", serving<&M::request_throughput>},
    {"output_throughput", "tokens/s", serving<&M::output_throughput>},
    {"total_token_throughput", "tokens/s", serving<&M::total_token_throughput>},
    {"request_goodput", "requests/s", serving<&M::request_goodput>},
    {"goodput_share", "share", goodput_share},
    {"kv_tokens", "tokens", figure<&R::pool_tokens>},
    {"kv_pool_bytes", "bytes", figure<&R::budget, &MemoryBudget::kv_pool_bytes>},
    {"max_kv_used_share", "share", memory<&MemorySummary::peak_utilisation>},
    {"mean_kv_used_share", "share", memory<&MemorySummary::mean_utilisation>},
    {"mean_kv_reserved_share", "share", memory<&MemorySummary::mean_reserved>},
    {"mean_kv_internal_share", "share", memory<&MemorySummary::mean_internal>},
    {"mean_kv_external_share", "share", memory<&MemorySummary::mean_external>},
    {"duration", "s", if_started<&R::summary, &RunSummary::metrics, &M::duration>},
    {"preemptions", "1", engine<&EngineSummary::preemptions>},
    {"recomputed_tokens", "tokens", engine<&EngineSummary::recomputed_tokens>},
    {"steps", "1", engine<&EngineSummary::steps>},
    {"busy_s", "s", engine<&EngineSummary::busy_s>},
    {"prefix_cache_hit_share", "share", hit_share},
    {"steady_arrival_rate", "requests/s", steady<&WindowReport::arrival_rate>},
    {"steady_finish_rate", "requests/s", steady<&WindowReport::finish_rate>},
    {"steady_in_system", "requests", steady_in_system},
    {"backlog_slope_per_s", "requests/s", slope<&BacklogSlope::per_s>},
    {"backlog_slope_low_per_s", "requests/s", slope<&BacklogSlope::low_per_s>},
    {"backlog_slope_high_per_s", "requests/s", slope<&BacklogSlope::high_per_s>}};

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
  const RunFigures figures{result, slope_of(result)};
  for (const RunMetric& metric : kRunMetrics) {
    if (const Value value = metric.value(figures)) row.metrics.emplace_back(metric.name, *value);
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
