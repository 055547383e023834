#include "sim/scenario/spelled_out.hpp"

#include <fmt/format.h>

#include <optional>

#include "sim/scenario/options.hpp"
#include "sim/scenario/short_values.hpp"

namespace headroom {
namespace {

void spell_out_number(Json& value, const OptionRow& row) {
  if (value.is_array()) {
    for (Json& element : value) spell_out_number(element, row);
  }
  if (!value.is_string() || type_name(row) == "text") return;
  const auto number = short_number(value.get_ref<const std::string&>(), row.unit, row.bounds);
  if (number) value = *number;
}

}  // namespace

void spell_out(Json& section, const std::string& pointer) {
  if (!section.is_object()) return;
  for (auto& [key, value] : section.items()) {
    const std::string here = fmt::format("{}/{}", pointer, pointer_token(key));
    if (here == "/workload/classes" && value.is_array()) {
      for (Json& one : value) spell_out(one, pointer);
      continue;
    }
    if (const OptionRow* row = find_option(here)) {
      spell_out_number(value, *row);
      continue;
    }
    if (main_option(here, value) != nullptr) value = Json{{std::string(main_key(here)), value}};
    spell_out(value, here);
  }
}

}  // namespace headroom
