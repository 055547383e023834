#include "sim/metrics/population_meter.hpp"

#include <fmt/format.h>

#include "sim/kernel/check.hpp"

namespace headroom {

void check_littles_law(const PopulationMeter& meter, const RecordTotals& totals, TimeNs end_ns) {
  HEADROOM_CHECK(meter.present() == totals.queued_without_end(),
                 fmt::format("{} requests in the system, {} records without an end",
                             meter.present(), totals.queued_without_end()));
  HEADROOM_CHECK(meter.integral_ns() == totals.sojourn_sum_ns(end_ns),
                 "integral of the number in system differs from the sum of sojourns");
}

}  // namespace headroom
