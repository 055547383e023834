#include "sim/resolve/records_memory.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel/errors.hpp"
#include "sim/serving/request.hpp"

namespace headroom {

double least_recorded(const Scenario& scenario, std::int64_t in_workload) {
  const WorkloadSection& workload = scenario.workload;
  const RunSection& run = scenario.run;
  const bool at_a_rate = workload.classes.empty() && workload.arrivals.request_rate.has_value();
  const double rate = at_a_rate ? *workload.arrivals.request_rate : 0;
  auto requests = static_cast<double>(in_workload);
  if (in_workload == 0 && workload.num_sessions) {
    requests = static_cast<double>(*workload.num_sessions);
  } else if (in_workload == 0 && workload.duration_s) {
    requests = rate * *workload.duration_s;
  }
  if (run.until_s) requests = std::min(requests, rate * *run.until_s);
  if (run.max_events) requests = std::min(requests, static_cast<double>(*run.max_events));
  return requests;
}

void check_records_fit(const Scenario& scenario, std::int64_t in_workload,
                       std::int64_t memory_bytes) {
  if (scenario.output.streaming) return;
  const double requests = least_recorded(scenario, in_workload);
  const double bytes = requests * sizeof(RequestRecord);
  if (bytes <= static_cast<double>(memory_bytes)) return;
  constexpr double kGib = 1024.0 * 1024 * 1024;
  throw ConfigError(Complaint{
      .origin = scenario.file,
      .pointer = "/workload",
      .problem = fmt::format("{:.4g} requests: their records need {:.4g} GiB ({} bytes each), but "
                             "this program can use {:.4g} GiB on this machine: expected at most {} "
                             "requests, or --set output.streaming=true, which keeps no records",
                             requests, bytes / kGib, sizeof(RequestRecord),
                             static_cast<double>(memory_bytes) / kGib,
                             memory_bytes / static_cast<std::int64_t>(sizeof(RequestRecord)))});
}

}  // namespace headroom
