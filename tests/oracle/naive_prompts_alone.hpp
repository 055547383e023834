#pragma once
// Data ranks whose decodes are left out of the price of their own prompts (docs/semantics.md 28):
// one naive engine for each rank, and a loop that steps them together. Every step by itself;
// synchronous scheduling, ranks in turn, no prefix cache.

#include <cstddef>
#include <vector>

#include "tests/oracle/oracle_types.hpp"

namespace headroom::oracle {

// `scenario`: of one rank, of policy sglang; its arrivals are those of all. In their order.
[[nodiscard]] std::vector<RequestResult> run_naive_prompts_alone(const Scenario& scenario,
                                                                 std::size_t ranks);

}  // namespace headroom::oracle
