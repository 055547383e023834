#pragma once
// What `headroom trace describe`, `check` and `convert` print: at most 80 columns.

#include <string>
#include <string_view>

#include "sim/traces/trace_check.hpp"
#include "sim/traces/trace_convert.hpp"
#include "sim/traces/trace_profile.hpp"

namespace headroom {

inline constexpr std::size_t kTraceWidth = 80;

[[nodiscard]] std::string trace_profile_text(const TraceProfile& profile);

[[nodiscard]] std::string trace_check_text(const TraceCheck& check);

// `where` the rows went.
[[nodiscard]] std::string conversion_text(const Conversion& conversion, std::string_view where);

}  // namespace headroom
