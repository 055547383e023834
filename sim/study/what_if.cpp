#include "sim/study/what_if.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <variant>

#include "sim/kernel/check.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/setup/options.hpp"
#include "sim/setup/startup_budget.hpp"

namespace headroom {
namespace {

template <typename T>
struct ValueType {
  using type = T;
};
template <typename T>
struct ValueType<std::optional<T>> {
  using type = T;
};

const OptionRow& row_at(std::string_view pointer) {
  const OptionRow* found = find_option(pointer);
  HEADROOM_CHECK(found != nullptr, "an option that does not exist: " + std::string(pointer));
  return *found;
}

}  // namespace

BudgetedSystem budget_system(const Scenario& scenario, const Catalog& catalog) {
  BudgetedSystem system;
  system.resolved = resolve_system(scenario, catalog);
  system.budget = startup_budget(system.resolved);
  return system;
}

std::optional<BudgetedSystem> try_system(const Scenario& scenario, const Catalog& catalog) {
  try {
    return budget_system(scenario, catalog);
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

Json option_value(const Scenario& scenario, std::string_view pointer) {
  return value_of(row_at(pointer), scenario);
}

void set_option(Scenario& scenario, const std::string& pointer, const Json& value,
                const std::string& origin) {
  std::visit(
      [&]<typename Field>(Field* field) { *field = value.get<typename ValueType<Field>::type>(); },
      row_at(pointer).reach.edit(scenario));
  scenario.given[pointer] = origin;
}

std::string option_path(std::string_view pointer) {
  std::string path(pointer.substr(1));
  std::ranges::replace(path, '/', '.');
  return path;
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
