#pragma once
// Rows of a trace as a whole: which of them stay, and what each has.

#include <cstddef>
#include <string_view>
#include <vector>

#include "sim/kernel/time.hpp"
#include "workloads/traces/trace.hpp"

namespace headroom {

// Only the rows whose flag is set; one flag per row.
void keep_rows(Trace& trace, const std::vector<bool>& kept);

// Every row has a detail from now on.
void need_details(Trace& trace);

// ConfigError, naming trace, row and `option`, for an instant that a run cannot have: before 0 or
// beyond kLatestTraceNs.
[[nodiscard]] TimeNs checked_instant(const Trace& trace, std::size_t row, Int128 time_ns,
                                     std::string_view option);

}  // namespace headroom
