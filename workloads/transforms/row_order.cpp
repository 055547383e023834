#include "workloads/transforms/row_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "sim/kernel/check.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

template <typename T>
void keep(std::vector<T>& values, const std::vector<bool>& kept) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (kept[i]) values[count++] = values[i];
  }
  values.resize(count);
}

}  // namespace

void keep_rows(Trace& trace, const std::vector<bool>& kept) {
  HEADROOM_CHECK(kept.size() == trace.rows.size(), "one flag per row");
  keep(trace.rows, kept);
  if (trace.details.empty()) return;
  keep(trace.details, kept);
  std::vector<PrefixSegment> segments;
  for (std::size_t i = 0; i < trace.rows.size(); ++i) {
    const std::size_t first = segments.size();
    for (const PrefixSegment& segment : trace.prefix(i)) segments.push_back(segment);
    trace.details[i].first_segment = first;
  }
  trace.segments = std::move(segments);
}

void need_details(Trace& trace) {
  if (trace.details.empty()) trace.details.resize(trace.rows.size());
}

TimeNs checked_instant(const Trace& trace, std::size_t row, Int128 time_ns,
                       std::string_view option) {
  if (time_ns >= 0 && time_ns <= kLatestTraceNs) return static_cast<TimeNs>(time_ns);
  throw ConfigError(fmt::format(
      "trace {}: {}: row {} in order of time comes at {:.4g} ns; allowed: up to {} ns (285 years)",
      trace.name, option, row + 1, static_cast<double>(time_ns), kLatestTraceNs));
}

}  // namespace headroom
