#pragma once
// Memory of a device over time, recorded by anything that writes CSV: what the baseline is, whether
// memory leaks, jumps or comes back after load, and which alerts it would have raised (seed
// document 002: diagnosis steps, common issues, alert thresholds).
//
// A serving engine that reserves its pool at start (vLLM, TensorRT-LLM) shows a flat line near its
// utilization here, whatever the traffic: then the alerts on memory say what was configured, and
// leaks and steps are what to look at.

#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

struct MemorySample {
  double time_s = 0;  // since the first sample
  double used_gib = 0;
  // Absent where the file has no such column or an empty cell.
  std::optional<double> reserved_gib;   // torch.cuda.memory_reserved
  std::optional<double> allocated_gib;  // torch.cuda.memory_allocated
  std::optional<double> running;        // requests in flight
  std::optional<double> max_context;    // tokens of the longest of them
};

struct MemorySeries {
  std::string name;
  std::string start;  // time of the first sample as written
  std::optional<double> capacity_gib;
  std::vector<MemorySample> samples;  // by time
  std::vector<std::string> ignored;   // columns that mean nothing here
};

struct SeriesColumns {
  std::string gpu;  // which device, where a column index, gpu, gpu_id, uuid or pci.bus_id tells
                    // several apart; empty: there must be one
};

// A CSV with a header; columns by name, case and separators aside:
//   time       time, timestamp, t, elapsed, seconds; with a unit s, ms, us or ns (time_ms, "time
//              [ms]"), else dates or seconds. A date is "YYYY-MM-DD hh:mm:ss[.fff]", also with
//              slashes (nvidia-smi).
//   used       memory.used, memory_used, used, memory; with a unit B, bytes, KiB, MiB, GiB, MB, GB
//              in the name ("memory.used [MiB]", used_gib) or in every value ("70188 MiB"). MB and
//              GB are decimal. Without it, reserved stands in.
//   reserved, allocated   the same units
//   total      memory.total, capacity: the capacity, which must not change
//   running    running, num_requests_running, in_flight
//   context    max_context, max_context_tokens, context_tokens
// What `nvidia-smi --query-gpu=timestamp,memory.used --format=csv` writes is such a file.
//
// DataError with name:line and the number of samples read before on: no header, a column missing
// twice or without unit, a value that is none, time that runs back, several devices, no samples.
[[nodiscard]] MemorySeries read_memory_series(std::istream& in, const std::string& name,
                                              const SeriesColumns& columns = {});

// Thresholds of document 002; the others are choices of ours, made to be visible, not measured.
struct SeriesOptions {
  std::optional<double> capacity_gib;     // in place of the file's
  std::optional<double> max_concurrency;  // requests; without it no alert on requests in flight
  double warning_share = 0.8;             // of the capacity
  double critical_share = 0.9;
  double fragmentation_gib = 2e9 / (1024.0 * 1024.0 * 1024.0);  // "2GB", which it divides by 1e9
  double in_flight_share = 0.8;                                 // of max_concurrency
  double context_window_s = 300;
  double context_factor = 2;
  double min_step_gib = 0.25;  // ours: a smaller jump is not called a step
  double min_rise_gib = 0.05;  // ours: what a leak must add up to over the recording
};

struct SeriesPoint {
  double time_s = 0;
  double gib = 0;
};

// Growth of the floor: the values that memory never returns below later. Load that ends does not
// change it; growth in it is permanent. Called a leak when the floor rises all along: in half of
// the windows of the recording (of a quarter of its samples, at most 48) or more, and in its first
// and last half. A start-up that fills caches and then stops growing is not a leak. The slope is
// Theil-Sen's.
struct SeriesLeak {
  double gib_per_s = 0;
  double bytes_per_hour = 0;
  double rise_gib = 0;              // over the recording, without steps
  bool idle = false;                // seen with no request running
  std::optional<double> full_at_s;  // when the level reaches the capacity, at this rate
};

struct SeriesStep {
  double time_s = 0;  // first sample that stays above
  double size_gib = 0;
};

// Memory held after the load is over, compared with before it.
struct SeriesReturn {
  SeriesPoint before;
  SeriesPoint after;
  [[nodiscard]] double difference_gib() const { return after.gib - before.gib; }
};

enum class SeriesAlertKind : std::uint8_t {
  memory_warning,   // used, GiB, from warning_share of the capacity on
  memory_critical,  // likewise
  fragmentation,    // reserved - allocated, GiB
  in_flight,        // running requests
  context_spike     // largest context of the last 5 minutes, over twice the mean of that figure
};
[[nodiscard]] std::string_view name_of(SeriesAlertKind kind);

// One episode above a limit.
struct SeriesAlert {
  SeriesAlertKind kind = SeriesAlertKind::memory_warning;
  double time_s = 0;   // first sample above
  double until_s = 0;  // last
  double value = 0;    // at the first
  double worst = 0;
  double limit = 0;
};

struct SeriesReport {
  std::int64_t samples = 0;
  double duration_s = 0;
  std::optional<double> capacity_gib;
  SeriesPoint baseline;  // median before the first request; else the least of the first twentieth
  SeriesPoint peak;      // first of equals
  std::optional<SeriesLeak> leak;
  std::vector<SeriesStep> steps;  // level shifts that last to the end of the recording
  std::optional<SeriesReturn> after_load;
  std::vector<SeriesAlert> alerts;  // by time, then kind
  std::vector<std::string> notes;   // what could not be looked for, and why
};

// Deterministic: sums, order statistics and comparisons only. `series` has at least one sample.
[[nodiscard]] SeriesReport report_memory_series(const MemorySeries& series,
                                                const SeriesOptions& options = {});

// Median of the slopes between all pairs (Theil-Sen): up to 29 % of the points may be anywhere.
// Absent below two different times.
[[nodiscard]] std::optional<double> theil_sen_slope(const std::vector<SeriesPoint>& points);

}  // namespace headroom
