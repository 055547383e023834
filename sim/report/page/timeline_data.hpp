#pragma once
// Parts of `run_data` that are made of the timeline and of the events.

#include <span>

#include "sim/metrics/event_log.hpp"
#include "sim/metrics/timeline.hpp"
#include "sim/scenario/json_document.hpp"

namespace headroom {

// {samples, replicas, columns, rows, oom}: the state of all replicas together. Of a long timeline
// each slice gives two of its samples, the one with most KV in use and the one with most waiting,
// so that no peak is lost. `oom` has the first moments of each replica, [time_s, replica].
[[nodiscard]] Json timeline_data(std::span<const TimelineRow> rows);

// {total, counts, bin_s, bins, columns, rows}: how often each kind happened, by bins of equal
// length up to `end_s`, and the first ones of each kind.
[[nodiscard]] Json events_data(std::span<const LoggedEvent> events, double end_s);

}  // namespace headroom
