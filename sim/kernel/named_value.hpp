#pragma once
// From the names that files use to values of ours: one table per enum, from which names are parsed
// and choices listed.

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "sim/kernel/check.hpp"

namespace headroom {

template <typename Value>
struct NamedValue {
  std::string_view name = {};
  Value value = {};
};

// The value of `name` in `table`. What users write was compared with the option's choices before,
// so a name without a row is a choice that this table lacks: a bug, never a default.
template <typename Value>
[[nodiscard]] Value value_named(std::string_view name, std::span<const NamedValue<Value>> table) {
  for (const NamedValue<Value>& row : table) {
    if (row.name == name) return row.value;
  }
  check_failed("a name has a value", __FILE__, __LINE__, std::string(name));
}
template <typename Value>
[[nodiscard]] Value value_named(std::string_view name,
                                std::initializer_list<NamedValue<Value>> table) {
  return value_named<Value>(name, std::span<const NamedValue<Value>>(table.begin(), table.size()));
}

// "a|b|c", as options list their choices.
template <typename Value>
[[nodiscard]] std::string choices_in(std::span<const NamedValue<Value>> table) {
  std::string choices;
  for (const NamedValue<Value>& row : table) {
    if (!choices.empty()) choices += '|';
    choices += row.name;
  }
  return choices;
}

}  // namespace headroom
