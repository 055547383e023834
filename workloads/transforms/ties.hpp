#pragma once
// Rows of equal time, apart. Some traces have coarse stamps (Mooncake: 3 s, BurstGPT: 1 s): the
// bursts at each stamp are the recorder's, not the users'.

#include <cstdint>

#include "workloads/traces/trace.hpp"

namespace headroom {

enum class SpreadTies : std::uint8_t {
  none,
  even,   // row j of m at stamp + j/m of the gap
  random  // sorted uniform places in the gap, of the stream "trace/ties"
};

struct TieReport {
  std::int64_t stamps = 0;      // with more than one row
  std::int64_t rows_moved = 0;  // to another nanosecond
};

// Over the gap up to the next stamp, the last rows over the gap before theirs; a single stamp has
// no gap and stays. Rows keep their order. A `timeless` row goes with its session's row before it.
[[nodiscard]] TieReport spread_ties(Trace& trace, SpreadTies spread, std::uint64_t seed);

}  // namespace headroom
