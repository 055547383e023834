#pragma once
// Rows of a trace as a whole: which of them stay, and what each has.

#include <string_view>
#include <vector>

#include "sim/kernel/time.hpp"
#include "workloads/traces/trace.hpp"

namespace headroom {

// Only the rows whose flag is set; one flag per row.
void keep_rows(Trace& trace, const std::vector<bool>& kept);

// Every row has a detail from now on.
void need_details(Trace& trace);

// ConfigError, naming `option`, for an instant that a run cannot have (292 years).
[[nodiscard]] TimeNs checked_instant(Int128 time_ns, std::string_view option);

}  // namespace headroom
