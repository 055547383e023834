#pragma once
// A system with one option changed, by the real rules: the scenario is resolved and budgeted anew.

#include <optional>
#include <string>
#include <string_view>

#include "hardware/budget/budget.hpp"
#include "hardware/catalog.hpp"
#include "sim/setup/json_document.hpp"
#include "sim/setup/resolve.hpp"

namespace headroom {

struct BudgetedSystem {
  Resolved resolved;
  MemoryBudget budget;
};

// ConfigError as resolve_system.
[[nodiscard]] BudgetedSystem budget_system(const Scenario& scenario, const Catalog& catalog);
// Empty where the engine refuses the scenario.
[[nodiscard]] std::optional<BudgetedSystem> try_system(const Scenario& scenario,
                                                       const Catalog& catalog);

// The option at a JSON pointer of the option tables. Setting it notes `origin` as who gave it; the
// value must have the option's type and lie in its range, which the caller guarantees.
[[nodiscard]] Json option_value(const Scenario& scenario, std::string_view pointer);
void set_option(Scenario& scenario, const std::string& pointer, const Json& value,
                const std::string& origin);
// "engine.max_num_seqs" of "/engine/max_num_seqs", as --set takes it.
[[nodiscard]] std::string option_path(std::string_view pointer);

// The longest request that the system accepts: what was asked for, or less where the engine lowers
// it to its pool.
[[nodiscard]] TokenCount longest_request(const BudgetedSystem& system);

// "61,440"
[[nodiscard]] std::string with_commas(std::int64_t count);

}  // namespace headroom
