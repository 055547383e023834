#pragma once
// The start-up budget of a resolved scenario: the engine's rule, and the pool size the user set, if
// any.

#include "hardware/budget/budget.hpp"
#include "sim/setup/resolve.hpp"

namespace headroom {

// How the engine of `resolved` looks at its host.
[[nodiscard]] HostRequest host_request(const Resolved& resolved);

// `resolved.warnings` gets what the rule does not cover.
[[nodiscard]] MemoryBudget startup_budget(Resolved& resolved);

// Blocks of a run's allocator, which knows one kind of layer: of unlike groups each takes ids for
// all tokens, and recurrent states are counted on the safe side.
[[nodiscard]] BlockCount run_blocks(const Resolved& resolved, const MemoryBudget& budget);

// Tokens that the pool of `budget` can hold for requests.
[[nodiscard]] TokenCount pool_tokens(const Resolved& resolved, const MemoryBudget& budget);

}  // namespace headroom
