#pragma once
// Whether an engine starts, and how certain that is.

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/resolve/startup_budget.hpp"

namespace headroom {

enum class StartVerdict : std::uint8_t { starts, may_not_start, does_not_start };
[[nodiscard]] std::string_view name_of(StartVerdict verdict);

// Pools within this share of the one that is just enough may be too small: start-ups that were
// logged had pools that differed by about as much (docs/fidelity.md, "Memory at start-up").
inline constexpr double kPoolError = 0.10;

// Whether the pool is what a share of the memory leaves, and so known to kPoolError only; not where
// the user gives its bytes or blocks.
[[nodiscard]] bool sizes_its_pool(const Resolved& resolved);

// Of an engine that fails because a request of the longest length does not fit: a length that does
// for certain, in whole blocks of 16 tokens; 0: of another failure, or none does.
[[nodiscard]] std::int64_t certain_length(const StartupFailure& failure);

// The pool that is certain: `budget` with kPoolError less of it.
[[nodiscard]] MemoryBudget least_pool(const MemoryBudget& budget);

// may_not_start: the engine needs a plug-in for the device; it starts, but reads weights from the
// file at every step; or, where it refuses a pool without room for one request of max_model_len, it
// would refuse the least one.
[[nodiscard]] StartVerdict start_verdict(const Resolved& resolved, const MemoryBudget& budget);

// Why it may not or does not start, as one sentence; empty where it starts.
[[nodiscard]] std::string start_reason(const Resolved& resolved, const MemoryBudget& budget);

}  // namespace headroom
