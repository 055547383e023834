#include "sim/metrics/population_meter.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel/check.hpp"

namespace headroom {

Int128 sojourn_sum_ns(std::span<const RequestRecord> records, TimeNs end_ns) {
  Int128 sum = 0;
  for (const RequestRecord& record : records) {
    if (record.queued_ns < 0) continue;
    sum += (record.finish_ns < 0 ? end_ns : record.finish_ns) - record.queued_ns;
  }
  return sum;
}

TimeNs time_in_system_ns(const RequestRecord& record, TimeNs from_ns, TimeNs to_ns) {
  const TimeNs left_ns = record.finish_ns < 0 ? to_ns : std::min(record.finish_ns, to_ns);
  return std::max<TimeNs>(0, left_ns - std::max(record.arrival_ns, from_ns));
}

Int128 population_integral_ns(std::span<const RequestRecord> records, TimeNs from_ns,
                              TimeNs to_ns) {
  Int128 sum = 0;
  for (const RequestRecord& record : records) sum += time_in_system_ns(record, from_ns, to_ns);
  return sum;
}

void check_littles_law(const PopulationMeter& meter, const RecordTotals& totals, TimeNs end_ns) {
  HEADROOM_CHECK(meter.present() == totals.queued_without_end(),
                 fmt::format("{} requests in the system, {} records without an end",
                             meter.present(), totals.queued_without_end()));
  HEADROOM_CHECK(meter.integral_ns() == totals.sojourn_sum_ns(end_ns),
                 "integral of the number in system differs from the sum of sojourns");
}

}  // namespace headroom
