#pragma once
// A random share of a trace.

#include <cstdint>
#include <vector>

#include "workloads/traces/trace.hpp"

namespace headroom {

struct ThinningReport {
  std::int64_t rows_dropped = 0;
  std::int64_t sessions_dropped = 0;
};

// For each row whether it stays: one uniform of the stream "trace/thinning" per row without a
// session and per session, in order of first rows; those below `share` (0 .. 1) stay, sessions
// whole. What a smaller share keeps, a larger one keeps, too.
[[nodiscard]] std::vector<bool> thinned_rows(const Trace& trace, double share, std::uint64_t seed,
                                             ThinningReport& report);

}  // namespace headroom
