#pragma once
// A system with one option changed, by the real rules: the scenario is resolved and budgeted anew.

#include <optional>
#include <string>
#include <string_view>

#include "hardware/catalog.hpp"
#include "sim/resolve/startup_budget.hpp"
#include "sim/scenario/option_value.hpp"

namespace headroom {

// ConfigError as resolve_system.
[[nodiscard]] BudgetedSystem budget_system(const Scenario& scenario, const Catalog& catalog);
// Empty where the engine refuses the scenario.
[[nodiscard]] std::optional<BudgetedSystem> try_system(const Scenario& scenario,
                                                       const Catalog& catalog);

// The longest request that the system accepts: the requested length, or less if the engine lowers
// it to its pool.
[[nodiscard]] TokenCount longest_request(const BudgetedSystem& system);

// "61,440"
[[nodiscard]] std::string with_commas(std::int64_t count);

}  // namespace headroom
