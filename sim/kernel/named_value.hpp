#pragma once
// From the names that files use to values of ours.

#include <initializer_list>
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
[[nodiscard]] Value value_named(std::string_view name,
                                std::initializer_list<NamedValue<Value>> table) {
  for (const NamedValue<Value>& row : table) {
    if (row.name == name) return row.value;
  }
  check_failed("a name has a value", __FILE__, __LINE__, std::string(name));
}

}  // namespace headroom
