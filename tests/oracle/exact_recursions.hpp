#pragma once
// First-come first-served queues in integer ns without an event loop: VERIFICATION V2 (a) and (b).

#include <algorithm>
#include <cstddef>
#include <vector>

#include "sim/kernel/check.hpp"
#include "sim/kernel/time.hpp"

namespace headroom::oracle {

// A job of a queue: arrivals in order of time, service without interruption.
struct Job {
  TimeNs arrival_ns = 0;
  TimeNs service_ns = 0;
};

// Lindley, one server: W' = max(0, W + S - A), A being the time between two arrivals. Returns the
// wait of each job before its service.
[[nodiscard]] inline std::vector<TimeNs> lindley_waits(const std::vector<Job>& jobs) {
  std::vector<TimeNs> waits;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (i == 0) {
      waits.push_back(0);
      continue;
    }
    const TimeNs between = jobs[i].arrival_ns - jobs[i - 1].arrival_ns;
    HEADROOM_CHECK(between >= 0, "arrivals in order of time");
    waits.push_back(std::max(TimeNs{0}, waits.back() + jobs[i - 1].service_ns - between));
  }
  return waits;
}

// k equal servers, one queue: each job goes to the server that is free first. Returns the end of
// each job, in the order of arrival (ends need not be in order).
[[nodiscard]] inline std::vector<TimeNs> earliest_free_ends(const std::vector<Job>& jobs,
                                                            std::size_t servers) {
  HEADROOM_CHECK(servers > 0, "at least one server");
  std::vector<TimeNs> free_at(servers, 0);
  std::vector<TimeNs> ends;
  for (const Job& job : jobs) {
    const auto first = std::min_element(free_at.begin(), free_at.end());
    *first = std::max(*first, job.arrival_ns) + job.service_ns;
    ends.push_back(*first);
  }
  return ends;
}

}  // namespace headroom::oracle
