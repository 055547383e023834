#pragma once
// Arrival times for a trace that has none of its own.

#include <cstdint>

#include "workloads/arrivals.hpp"
#include "workloads/traces/trace.hpp"

namespace headroom {

struct GivenArrivals {
  std::int64_t instants = 0;      // drawn: of requests, or of starts of sessions
  std::int64_t rows_dropped = 0;  // the process ended before their instant
};

// Afterwards the trace has a clock and is in order of time. ConfigError: arrival options.
// TraceClock::none: each row takes an instant, in the order of the file. A row that follows the
// answer before it in its session (after_previous_ns) takes none: it becomes `timeless`.
// TraceClock::per_session: each session takes one, in the order of first rows; its rows come at
// this instant plus their own time.
[[nodiscard]] GivenArrivals give_arrivals(Trace& trace, const ArrivalOptions& options,
                                          std::uint64_t seed);

}  // namespace headroom
