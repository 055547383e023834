#include "sim/study/sweep/run_row.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "sim/metrics/backlog_slope.hpp"
#include "sim/serving/oom.hpp"

namespace headroom {
namespace {

struct Latency {
  std::string_view name;
  double ServingMetrics::*value;
};

// clang-format off
constexpr std::array kLatencies{
    Latency{"mean_ttft_ms", &ServingMetrics::mean_ttft_ms},
    Latency{"median_ttft_ms", &ServingMetrics::median_ttft_ms},
    Latency{"std_ttft_ms", &ServingMetrics::std_ttft_ms},
    Latency{"p90_ttft_ms", &ServingMetrics::p90_ttft_ms},
    Latency{"p95_ttft_ms", &ServingMetrics::p95_ttft_ms},
    Latency{"p99_ttft_ms", &ServingMetrics::p99_ttft_ms},
    Latency{"mean_tpot_ms", &ServingMetrics::mean_tpot_ms},
    Latency{"median_tpot_ms", &ServingMetrics::median_tpot_ms},
    Latency{"std_tpot_ms", &ServingMetrics::std_tpot_ms},
    Latency{"p90_tpot_ms", &ServingMetrics::p90_tpot_ms},
    Latency{"p95_tpot_ms", &ServingMetrics::p95_tpot_ms},
    Latency{"p99_tpot_ms", &ServingMetrics::p99_tpot_ms},
    Latency{"mean_itl_ms", &ServingMetrics::mean_itl_ms},
    Latency{"median_itl_ms", &ServingMetrics::median_itl_ms},
    Latency{"std_itl_ms", &ServingMetrics::std_itl_ms},
    Latency{"p90_itl_ms", &ServingMetrics::p90_itl_ms},
    Latency{"p95_itl_ms", &ServingMetrics::p95_itl_ms},
    Latency{"p99_itl_ms", &ServingMetrics::p99_itl_ms},
    Latency{"mean_e2el_ms", &ServingMetrics::mean_e2el_ms},
    Latency{"median_e2el_ms", &ServingMetrics::median_e2el_ms},
    Latency{"std_e2el_ms", &ServingMetrics::std_e2el_ms},
    Latency{"p90_e2el_ms", &ServingMetrics::p90_e2el_ms},
    Latency{"p95_e2el_ms", &ServingMetrics::p95_e2el_ms},
    Latency{"p99_e2el_ms", &ServingMetrics::p99_e2el_ms}};
// clang-format on

// In the order in which a row has them.
constexpr std::array<std::string_view, 35> kOthers{"oom_count",
                                                   "started",
                                                   "arrived",
                                                   "completed",
                                                   "rejected",
                                                   "cancelled",
                                                   "lost_to_oom",
                                                   "lost_to_fault",
                                                   "unfinished",
                                                   "total_input_tokens",
                                                   "total_output_tokens",
                                                   "request_throughput",
                                                   "output_throughput",
                                                   "total_token_throughput",
                                                   "request_goodput",
                                                   "goodput_share",
                                                   "kv_tokens",
                                                   "kv_pool_bytes",
                                                   "max_kv_used_share",
                                                   "mean_kv_used_share",
                                                   "mean_kv_reserved_share",
                                                   "mean_kv_internal_share",
                                                   "mean_kv_external_share",
                                                   "duration",
                                                   "preemptions",
                                                   "recomputed_tokens",
                                                   "steps",
                                                   "busy_s",
                                                   "prefix_cache_hit_share",
                                                   "steady_arrival_rate",
                                                   "steady_finish_rate",
                                                   "steady_in_system",
                                                   "backlog_slope_per_s",
                                                   "backlog_slope_low_per_s",
                                                   "backlog_slope_high_per_s"};

class RunRow {
 public:
  RunRow(const RunResult& result, StoredRun& row) : result_(result), row_(row) {}

  void fill() {
    add_ooms();
    add_requests();
    add_memory();
    if (!result_.started) return;
    add_engine();
    add_backlog();
    if (!*row_.stationary || result_.summary.metrics.completed == 0) return;
    for (const Latency& latency : kLatencies) {
      add(latency.name, result_.summary.metrics.*latency.value);
    }
  }

 private:
  void add(std::string_view name, double value) { row_.metrics.emplace_back(name, value); }
  void add(std::string_view name, std::int64_t value) { add(name, static_cast<double>(value)); }

  // By kind, in the order of their first moments.
  void add_ooms() {
    const auto count = [this](OomKind kind, std::int64_t number, TimeNs time_ns) {
      const std::string name(name_of(kind));
      auto found = std::ranges::find(row_.ooms, name, &StoredOom::kind);
      if (found == row_.ooms.end()) {
        found = row_.ooms.insert(found, {name, 0, static_cast<double>(time_ns) * 1e-9});
      }
      found->count += number;
    };
    if (result_.budget.failure) count(OomKind::startup, 1, 0);
    for (const OomEntry& entry : result_.summary.ooms)
      count(entry.kind, entry.count, entry.time_ns);
    std::int64_t all = 0;
    for (const StoredOom& oom : row_.ooms) all += oom.count;
    add("oom_count", all);
    add("started", std::int64_t{result_.started});
  }

  void add_requests() {
    const RequestCounts& requests = result_.summary.requests;
    const ServingMetrics& metrics = result_.summary.metrics;
    add("arrived", requests.arrived);
    add("completed", metrics.completed);
    add("rejected", requests.rejected);
    add("cancelled", requests.cancelled);
    add("lost_to_oom", requests.lost_to_oom);
    add("lost_to_fault", requests.lost_to_fault);
    add("unfinished", requests.unfinished);
    add("total_input_tokens", metrics.total_input_tokens);
    add("total_output_tokens", metrics.total_output_tokens);
    add("request_throughput", metrics.request_throughput);
    add("output_throughput", metrics.output_throughput);
    add("total_token_throughput", metrics.total_token_throughput);
    if (!metrics.request_goodput) return;
    add("request_goodput", *metrics.request_goodput);
    // Of all that arrived: a request that was turned away or lost has kept no limit either.
    const double good = *metrics.request_goodput * metrics.duration;
    if (requests.arrived > 0) add("goodput_share", good / static_cast<double>(requests.arrived));
  }

  void add_memory() {
    const MemorySummary& memory = result_.summary.memory;
    add("kv_tokens", result_.pool_tokens);
    add("kv_pool_bytes", result_.budget.kv_pool_bytes);
    add("max_kv_used_share", memory.peak_utilisation);
    add("mean_kv_used_share", memory.mean_utilisation);
    add("mean_kv_reserved_share", memory.mean_reserved);
    add("mean_kv_internal_share", memory.mean_internal);
    add("mean_kv_external_share", memory.mean_external);
  }

  void add_engine() {
    const EngineSummary& engine = result_.summary.engine;
    add("duration", result_.summary.metrics.duration);
    add("preemptions", engine.preemptions);
    add("recomputed_tokens", engine.recomputed_tokens);
    add("steps", engine.steps);
    add("busy_s", engine.busy_s);
    if (engine.prefix_cache_queries > 0) {
      add("prefix_cache_hit_share", static_cast<double>(engine.prefix_cache_hits) /
                                        static_cast<double>(engine.prefix_cache_queries));
    }
  }

  void add_backlog() {
    const WindowSummary& windows = result_.summary.windows;
    row_.stationary = windows.stationarity.stationary;
    add("steady_arrival_rate", windows.steady.arrival_rate);
    add("steady_finish_rate", windows.steady.finish_rate);
    double in_system = 0;
    for (const double third : windows.stationarity.mean_in_system) in_system += third / 3;
    add("steady_in_system", in_system);
    if (result_.recorder->stream() != nullptr) return;  // it has no records
    const auto slope = backlog_slope(result_.recorder->records(), windows.steady);
    if (!slope) return;
    add("backlog_slope_per_s", slope->per_s);
    add("backlog_slope_low_per_s", slope->low_per_s);
    add("backlog_slope_high_per_s", slope->high_per_s);
  }

  const RunResult& result_;
  StoredRun& row_;
};

}  // namespace

std::vector<std::string> metric_names() {
  std::vector<std::string> names(kOthers.begin(), kOthers.end());
  for (const Latency& latency : kLatencies) names.emplace_back(latency.name);
  return names;
}

StoredRun row_of(const RunResult& result, std::string summary) {
  StoredRun row;
  row.done = true;
  row.digest = result.digest;
  row.summary = std::move(summary);
  RunRow(result, row).fill();
  return row;
}

}  // namespace headroom
