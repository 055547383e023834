#include "workloads/transforms/arrival_times.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "sim/kernel/check.hpp"
#include "workloads/session_rows.hpp"
#include "workloads/transforms/row_order.hpp"

namespace headroom {
namespace {

// For each row whether it takes an instant of its own.
std::vector<bool> instant_takers(const Trace& trace, const std::vector<std::uint32_t>& previous) {
  std::vector<bool> takes(trace.rows.size());
  for (std::size_t i = 0; i < takes.size(); ++i) {
    const bool follows = previous[i] != kNoRow && (trace.clock == TraceClock::per_session ||
                                                   trace.details[i].after_previous_ns >= 0);
    takes[i] = !follows;
  }
  return takes;
}

}  // namespace

GivenArrivals give_arrivals(Trace& trace, const ArrivalOptions& options, std::uint64_t seed) {
  HEADROOM_CHECK(trace.clock != TraceClock::absolute, "a trace without times of its own");
  const bool per_session = trace.clock == TraceClock::per_session;
  const std::vector<std::uint32_t> previous = previous_in_session(trace);
  const std::vector<bool> takes = instant_takers(trace, previous);
  std::vector<TimeNs> instants(static_cast<std::size_t>(std::ranges::count(takes, true)));
  ArrivalTimes(options, seed, static_cast<std::int64_t>(instants.size())).fill(instants);

  GivenArrivals report{.instants = static_cast<std::int64_t>(instants.size())};
  std::vector<TimeNs> starts(trace.rows.size());  // kNever: the process has ended
  std::vector<bool> kept(trace.rows.size());
  std::size_t taken = 0;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    starts[i] = takes[i] ? instants[taken++] : starts[previous[i]];
    kept[i] = starts[i] != kNever;
    if (!kept[i]) {
      ++report.rows_dropped;
      continue;
    }
    TimeNs& time_ns = trace.rows[i].time_ns;
    const Int128 own_ns = per_session ? time_ns : 0;
    time_ns = checked_instant(trace, i, own_ns + starts[i], "arrivals");
    if (!takes[i] && !per_session) trace.details[i].timeless = true;
  }
  if (report.rows_dropped != 0) keep_rows(trace, kept);
  sort_by_time(trace);
  trace.clock = TraceClock::absolute;
  return report;
}

}  // namespace headroom
