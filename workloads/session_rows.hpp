#pragma once
// Which rows of a trace belong together: the turns of a session, in the trace's order.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "workloads/traces/trace.hpp"

namespace headroom {

inline constexpr std::uint32_t kNoRow = UINT32_MAX;

// For each of the first `rows` rows the number of its session's row before it; kNoRow for the
// first of a session and for a row without one. O(rows).
[[nodiscard]] std::vector<std::uint32_t> previous_in_session(const Trace& trace, std::size_t rows);
[[nodiscard]] std::vector<std::uint32_t> previous_in_session(const Trace& trace);

// The same links the other way round: the session's row after each, kNoRow for the last.
[[nodiscard]] std::vector<std::uint32_t> next_in_session(
    const std::vector<std::uint32_t>& previous);

}  // namespace headroom
