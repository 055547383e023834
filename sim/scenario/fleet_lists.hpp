#pragma once
// The plain lists of section `fleet`: each element has the options of fleet_element_options() below
// the list's pointer, and nothing else. Groups are no plain list (fleet_options.hpp).

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "sim/scenario/options.hpp"

namespace headroom {

struct FleetList {
  std::string_view pointer;
  std::string_view doc;
  std::vector<const char*> required;  // keys of each element
  // Adds the first element of `holder`'s list to that of `scenario`.
  void (*append)(Scenario& holder, Scenario& scenario);
  std::size_t (*size)(const Scenario& scenario);
  // A scenario whose list has the element `index` of `scenario`'s alone; an empty one: a new one.
  Scenario (*alone)(const Scenario* scenario, std::size_t index);
};

[[nodiscard]] std::span<const FleetList> fleet_lists();

// The list at `pointer` of the document, or nullptr.
[[nodiscard]] const Json* list_at(const JsonDocument& document, std::string_view pointer);
void require_keys(const JsonDocument& document, const Scenario& scenario, const std::string& here,
                  std::span<const char* const> names);
void read_list(const JsonDocument& document, const FleetList& list, Scenario& scenario);

}  // namespace headroom
