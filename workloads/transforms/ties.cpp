#include "workloads/transforms/ties.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "sim/kernel/random.hpp"
#include "workloads/session_rows.hpp"
#include "workloads/transforms/row_order.hpp"

namespace headroom {
namespace {

// Places of `offsets.size()` rows in a gap: non-decreasing, each in 0 .. gap_ns - 1.
void place_evenly(std::span<TimeNs> offsets, TimeNs gap_ns) {
  const auto rows = static_cast<Int128>(offsets.size());
  for (std::size_t j = 0; j < offsets.size(); ++j) {
    offsets[j] = static_cast<TimeNs>(static_cast<Int128>(gap_ns) * static_cast<Int128>(j) / rows);
  }
}

void place_at_random(std::span<TimeNs> offsets, TimeNs gap_ns, RandomStream& stream) {
  for (TimeNs& offset : offsets) {
    const double place = stream.uniform() * static_cast<double>(gap_ns);
    offset = std::min(static_cast<TimeNs>(place), gap_ns - 1);  // the product may be rounded up
  }
  std::ranges::sort(offsets);
}

bool goes_with_previous(const Trace& trace, const std::vector<std::uint32_t>& previous,
                        std::size_t row) {
  return !trace.details.empty() && trace.details[row].timeless && previous[row] != kNoRow;
}

// The times of rows that have their own.
std::vector<TimeNs*> own_times(Trace& trace, const std::vector<std::uint32_t>& previous) {
  std::vector<TimeNs*> times;
  times.reserve(trace.rows.size());
  for (std::size_t i = 0; i < trace.rows.size(); ++i) {
    if (!goes_with_previous(trace, previous, i)) times.push_back(&trace.rows[i].time_ns);
  }
  return times;
}

void follow_previous(Trace& trace, const std::vector<std::uint32_t>& previous) {
  for (std::size_t i = 0; i < trace.rows.size(); ++i) {
    if (!goes_with_previous(trace, previous, i)) continue;
    trace.rows[i].time_ns = trace.rows[previous[i]].time_ns;
  }
  sort_by_time(trace);
}

}  // namespace

TieReport spread_ties(Trace& trace, SpreadTies spread, std::uint64_t seed) {
  TieReport report;
  if (spread == SpreadTies::none) return report;
  RandomStream stream(seed, "trace/ties");
  const std::vector<std::uint32_t> previous = previous_in_session(trace);
  const std::vector<TimeNs*> times = own_times(trace, previous);
  std::vector<TimeNs> offsets;
  TimeNs gap_before_ns = 0;
  for (std::size_t begin = 0, end = 0; begin < times.size(); begin = end) {
    const TimeNs stamp_ns = *times[begin];
    while (end < times.size() && *times[end] == stamp_ns) ++end;
    const TimeNs gap_ns = end < times.size() ? *times[end] - stamp_ns : gap_before_ns;
    gap_before_ns = gap_ns;
    if (end - begin == 1) continue;
    ++report.stamps;
    if (gap_ns == 0) continue;
    offsets.resize(end - begin);
    if (spread == SpreadTies::even) {
      place_evenly(offsets, gap_ns);
    } else {
      place_at_random(offsets, gap_ns, stream);
    }
    for (std::size_t j = 0; j < offsets.size(); ++j) {
      *times[begin + j] = checked_instant(trace, begin + j, Int128{stamp_ns} + offsets[j], "ties");
      report.rows_moved += offsets[j] != 0 ? 1 : 0;
    }
  }
  follow_previous(trace, previous);
  return report;
}

}  // namespace headroom
