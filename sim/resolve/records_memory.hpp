#pragma once
// Whether this machine can keep what a run records of each request.

#include <cstdint>

#include "sim/scenario/scenario.hpp"

namespace headroom {

// Requests that a run of `scenario` will at least record, as far as that is known before it:
// `in_workload` of them (0: not known), fewer where the run ends before. 0: not known.
[[nodiscard]] double least_recorded(const Scenario& scenario, std::int64_t in_workload);

// ConfigError when their records need more than `memory_bytes`. Nothing is kept, and so nothing
// refused, with output.streaming.
void check_records_fit(const Scenario& scenario, std::int64_t in_workload,
                       std::int64_t memory_bytes);

}  // namespace headroom
