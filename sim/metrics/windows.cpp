#include "sim/metrics/windows.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/kernel/check.hpp"
#include "sim/kernel/likely.hpp"
#include "sim/metrics/record_digest.hpp"
#include "sim/metrics/record_walk.hpp"

namespace headroom {

namespace {

using Records = std::span<const RequestRecord>;

// Requests that arrived before t.
std::int64_t arrived_before(Records records, TimeNs t) {
  const auto earlier = [](const RequestRecord& record, TimeNs time) {
    return record.arrival_ns < time;
  };
  return std::lower_bound(records.begin(), records.end(), t, earlier) - records.begin();
}

// One pass over the records for all that looks at every one of them.
void scan(WindowSummary& summary, Records records, TimeNs third_ns, Digest* of_records) {
  const TimeNs from_ns = summary.steady.start_ns;
  std::array<TimeNs, 4> edges{};
  for (std::size_t i = 0; i < edges.size(); ++i) {
    edges[i] = from_ns + static_cast<TimeNs>(i) * third_ns;
  }
  const std::array<WindowReport*, 3> windows{&summary.warmup, &summary.steady, &summary.drain};
  std::array<std::int64_t, 3> finished{};
  std::array<Int128, 3> integral_ns{};
  Digest digest = of_records != nullptr ? *of_records : Digest{};  // in registers
  walk(records, [&](const RequestRecord& record) {
    add_record(digest, record);
    if (record.outcome == Outcome::finished) {
      const bool after_warmup = record.finish_ns >= summary.steady.start_ns;
      const bool after_steady = record.finish_ns >= summary.drain.start_ns;
      ++finished[static_cast<std::size_t>(after_warmup) + static_cast<std::size_t>(after_steady)];
    }
    // From the sending on, also while an API server has it.
    const TimeNs left_ns = record.finish_ns < 0 ? kNever : record.finish_ns;
    // Most come and go within one third: behind so many edges.
    const auto behind = static_cast<std::size_t>(std::count_if(
        edges.begin(), edges.end(), [&](TimeNs edge_ns) { return edge_ns <= record.arrival_ns; }));
    if (behind == edges.size()) return;
    if (mostly(behind > 0) && mostly(left_ns <= edges[behind])) {
      integral_ns[behind - 1] += left_ns - record.arrival_ns;
      return;
    }
    // Time in the system up to each edge: the differences are those within the thirds.
    TimeNs before_ns = std::min(left_ns, edges[0]) - std::min(record.arrival_ns, edges[0]);
    for (std::size_t third = 0; third < 3; ++third) {
      const TimeNs edge_ns = edges[third + 1];
      const TimeNs by_now_ns = std::min(left_ns, edge_ns) - std::min(record.arrival_ns, edge_ns);
      integral_ns[third] += by_now_ns - before_ns;
      before_ns = by_now_ns;
    }
  });
  if (of_records != nullptr) *of_records = digest;
  summary.stationarity.integral_ns = integral_ns;
  for (std::size_t i = 0; i < windows.size(); ++i) windows[i]->finished_inside = finished[i];
}

TimeNs offset_ns(const std::optional<double>& seconds, TimeNs otherwise_ns) {
  return seconds ? static_cast<TimeNs>(*seconds * 1e9) : otherwise_ns;
}

}  // namespace

void set_rates(WindowReport& report) {
  if (report.end_ns <= report.start_ns) return;
  const double length_s = static_cast<double>(report.end_ns - report.start_ns) * 1e-9;
  report.arrival_rate = static_cast<double>(report.arrived) / length_s;
  report.finish_rate = static_cast<double>(report.finished_inside) / length_s;
}

void judge(Stationarity& result, const std::array<TimeNs, 3>& length_ns) {
  for (std::size_t third = 0; third < 3; ++third) {
    result.mean_in_system[third] =
        static_cast<double>(result.integral_ns[third]) / static_cast<double>(length_ns[third]);
  }
  const auto& mean = result.mean_in_system;
  const bool grows = mean[0] < mean[1] && mean[1] < mean[2];
  result.stationary =
      !(grows && mean[2] > 1.25 * mean[0] && mean[2] > mean[0] + 4 * std::sqrt(mean[0]) + 1);
}

WindowSummary windows_of(std::span<const RequestRecord> records, TimeNs end_ns,
                         const WindowOptions& windows, Digest* digest) {
  WindowSummary summary;
  if (records.empty()) return summary;
  const TimeNs first_ns = records.front().arrival_ns;
  const TimeNs span_ns = records.back().arrival_ns - first_ns;
  // The last arrival is the last nanosecond of the steady window, not the first of the drain.
  const TimeNs steady_end_ns =
      std::min(first_ns + offset_ns(windows.steady_end_s, span_ns + 1), end_ns + 1);
  const TimeNs warmup_end_ns =
      std::min(first_ns + offset_ns(windows.warmup_s, span_ns / 10), steady_end_ns);
  summary.warmup.start_ns = first_ns;
  summary.warmup.end_ns = summary.steady.start_ns = warmup_end_ns;
  summary.steady.end_ns = summary.drain.start_ns = steady_end_ns;
  summary.drain.end_ns = std::max(steady_end_ns, end_ns + 1);
  const TimeNs third_ns = (steady_end_ns - warmup_end_ns) / 3;
  scan(summary, records, third_ns, digest);
  if (third_ns > 0) judge(summary.stationarity, {third_ns, third_ns, third_ns});
  std::int64_t before = 0;
  for (WindowReport* window : {&summary.warmup, &summary.steady, &summary.drain}) {
    const std::int64_t by_its_end = arrived_before(records, window->end_ns);
    window->arrived = by_its_end - std::exchange(before, by_its_end);
    set_rates(*window);
  }
  HEADROOM_CHECK(before == static_cast<std::int64_t>(records.size()), "arrivals after the end");
  return summary;
}

}  // namespace headroom
