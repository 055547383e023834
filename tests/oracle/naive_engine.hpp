#pragma once
// The naive engine: every step by itself, plain vectors, everything recomputed, no jumps.
// It is the reading of docs/semantics.md against which production is compared.

#include <vector>

#include "tests/oracle/naive_state.hpp"
#include "tests/oracle/oracle_types.hpp"

namespace headroom::oracle {

// Runs until nothing is in flight and neither an arrival nor a wake-up is due. Requests that are
// still in the system then (an engine that can never admit its head) are `unfinished`.
// A run that yields no token in kThrashSteps steps ends with `thrashed`; its totals depend on that
// number and are not for comparing.
inline constexpr StepCount kThrashSteps = 10'000;

[[nodiscard]] Result run_naive(const Scenario& scenario);
[[nodiscard]] Result run_naive(const Scenario& scenario, const CostFunction& cost);

// What the price of a step depends on (docs/semantics.md 4).
[[nodiscard]] StepShape shape_of(const std::vector<PlannedRow>& rows);

}  // namespace headroom::oracle
