#pragma once
// Drives a workload without an engine: each request leaves the system so long after its arrival,
// and with such an outcome, as the test says.

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/serving/workload_source.hpp"

namespace headroom::test {

struct Service {
  TimeNs duration_ns = 0;
  Outcome outcome = Outcome::finished;
};
using ServiceOf = std::function<Service(const Arrival& arrival, std::uint64_t index)>;

struct ServedRequest {
  Arrival arrival;  // its span is no longer valid: see `prefix`
  std::vector<PrefixSegment> prefix;
  TimeNs left_ns = 0;
};

// Until the workload ends and nobody is left, or `most` requests have arrived. Of one instant,
// those who leave come first. Checks the port's contract: times never run back, announced times are
// those of the requests, and a prefix stays as it is until its request has left.
[[nodiscard]] std::vector<ServedRequest> serve(WorkloadSource& source, const ServiceOf& service,
                                               std::uint64_t most = UINT64_MAX);

// Everybody is finished after `duration_ns`.
[[nodiscard]] ServiceOf after(TimeNs duration_ns);

}  // namespace headroom::test
