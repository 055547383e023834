#include "sim/scenario/option_value.hpp"

#include <algorithm>
#include <optional>
#include <variant>

#include "sim/kernel/check.hpp"
#include "sim/scenario/options.hpp"

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

}  // namespace headroom
