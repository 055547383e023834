#pragma once
// Several copies of a trace at once: more users like those that were recorded.

#include <cstdint>
#include <optional>

#include "sim/kernel/time.hpp"
#include "workloads/traces/trace.hpp"

namespace headroom {

struct CopyReport {
  std::int64_t rows_added = 0;
  std::int64_t rows_wrapped = 0;  // of the end, at the beginning
  TimeNs cycle_ns = 0;
  TimeNs shift_ns = 0;  // of each copy against the one before
};

// Copy j (0: the trace itself) comes j * `shift_ns` later, by default cycle / copies; what then
// lies behind the cycle comes at its beginning. A cycle is the span of the trace and one mean gap,
// so that the last row and the first do not fall together. A session moves whole, by its first row:
// turns of one that begins late may end behind the cycle. Without sessions nothing tells which rows
// belong together: the later turn of a chat may come before the earlier one where it wraps.
//
// Sessions of different copies are different. So are all identities of prompts and answers, unless
// copies `share_prefixes`: then those stay equal that two sessions (rows, where there are no
// sessions) of the trace had in common, such as system prompts. ConfigError: an instant beyond
// kLatestTraceNs. Needs copies >= 1, copies * rows < 2^32 - 1, shift_ns >= 0.
[[nodiscard]] CopyReport superpose(Trace& trace, std::int64_t copies,
                                   std::optional<TimeNs> shift_ns, bool share_prefixes);

}  // namespace headroom
