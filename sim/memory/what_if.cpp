#include "sim/memory/what_if.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel/errors.hpp"

namespace headroom {
BudgetedSystem budget_system(const Scenario& scenario, const Catalog& catalog) {
  return budgeted(resolve_system(scenario, catalog));
}

std::optional<BudgetedSystem> try_system(const Scenario& scenario, const Catalog& catalog) {
  try {
    return budget_system(scenario, catalog);
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

TokenCount longest_request(const BudgetedSystem& system) {
  const TokenCount asked = system.resolved.max_model_len;
  const TokenCount found = system.budget.max_model_len;
  return found > 0 && !system.budget.failure ? std::min(asked, found) : asked;
}

std::string with_commas(std::int64_t count) {
  std::string digits = fmt::format("{}", count);
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

}  // namespace headroom
