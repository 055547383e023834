#pragma once
// The start-up budget of a resolved scenario: the engine's rule, and the pool size the user set, if
// any.

#include <optional>
#include <string>

#include "hardware/budget/budget.hpp"
#include "sim/resolve/resolve.hpp"

namespace headroom {

// How the engine of `resolved` looks at its host.
[[nodiscard]] HostRequest host_request(const Resolved& resolved);

// A system whose engine has started, or has failed to.
struct BudgetedSystem {
  Resolved resolved;
  MemoryBudget budget;
};

// The system with what its start decides: lengths and batches that follow from the pool, and
// warnings about what the engine's rule does not cover.
[[nodiscard]] BudgetedSystem budgeted(Resolved resolved);

// Whether a run gives unlike groups of layers the block ids that they hold (SequenceBlocks). Else
// its allocator knows one kind of layer: each group takes ids for all tokens, and recurrent states
// are counted on the safe side.
[[nodiscard]] bool follows_groups(const Resolved& resolved, const KvLayout& layout);

// What a run simplifies about unlike groups, for its warnings.
[[nodiscard]] std::optional<std::string> note_on_groups(const Resolved& resolved,
                                                        const MemoryBudget& budget,
                                                        bool shares_prefixes);

// Blocks of a run's allocator.
[[nodiscard]] BlockCount run_blocks(const Resolved& resolved, const MemoryBudget& budget);

// Tokens that the pool of `budget` can hold for requests; of max_model_len where a run follows
// unlike groups.
[[nodiscard]] TokenCount pool_tokens(const Resolved& resolved, const MemoryBudget& budget);

}  // namespace headroom
