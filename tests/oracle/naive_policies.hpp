#pragma once
// The three schedulers of docs/semantics.md 6, 8 and 9: each returns the rows of the next step and
// has moved requests and memory accordingly. No rows: nothing to do now.

#include <vector>

#include "tests/oracle/naive_state.hpp"

namespace headroom::oracle {

[[nodiscard]] std::vector<PlannedRow> plan_vllm(NaiveState& state);
[[nodiscard]] std::vector<PlannedRow> plan_orca(NaiveState& state);
[[nodiscard]] std::vector<PlannedRow> plan_static(NaiveState& state);

}  // namespace headroom::oracle
