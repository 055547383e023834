#pragma once
// What the meters sum up as a run goes on, from the records of its end.

#include <algorithm>
#include <span>

#include "sim/kernel/time.hpp"
#include "sim/serving/request.hpp"

namespace headroom {

// Sum over the records of the time between entering a queue and leaving the system (or `end_ns`).
inline Int128 sojourn_sum_ns(std::span<const RequestRecord> records, TimeNs end_ns) {
  Int128 sum = 0;
  for (const RequestRecord& record : records) {
    if (record.queued_ns < 0) continue;
    sum += (record.finish_ns < 0 ? end_ns : record.finish_ns) - record.queued_ns;
  }
  return sum;
}

// Integral of the number in system over [from_ns, to_ns): each request from its sending on.
inline Int128 population_integral_ns(std::span<const RequestRecord> records, TimeNs from_ns,
                                     TimeNs to_ns) {
  Int128 sum = 0;
  for (const RequestRecord& record : records) {
    const TimeNs left_ns = record.finish_ns < 0 ? to_ns : std::min(record.finish_ns, to_ns);
    sum += std::max<TimeNs>(0, left_ns - std::max(record.arrival_ns, from_ns));
  }
  return sum;
}

}  // namespace headroom
