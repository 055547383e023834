#pragma once
// The one place that says which options a scenario has: path, type, unit, range, meaning. Parsing,
// `headroom list options`, the published JSON Schema and resolved.json are all made from these
// rows.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/options/rows.hpp"
#include "sim/scenario/json_document.hpp"
#include "sim/scenario/scenario.hpp"

namespace headroom {

// How a row reaches its field. The type of the field is the type of the option.
class FieldReach {
 public:
  FieldReach() = default;
  template <typename T>
  FieldReach(T& (*reach)(Scenario&))  // NOLINT(google-explicit-constructor): rows name the field
      : edit_([reach](Scenario& scenario) { return FieldPointer(&reach(scenario)); }),
        type_(FieldPointer(static_cast<T*>(nullptr)).index()) {}
  FieldReach(std::function<FieldPointer(Scenario&)> edit,
             std::function<FieldPointer(const Scenario&)> read, std::size_t type)
      : edit_(std::move(edit)), read_(std::move(read)), type_(type) {}

  [[nodiscard]] FieldPointer edit(Scenario& scenario) const { return edit_(scenario); }
  // To look at what it points to, only.
  [[nodiscard]] FieldPointer read(const Scenario& scenario) const {
    return read_ ? read_(scenario) : edit_(const_cast<Scenario&>(scenario));
  }
  [[nodiscard]] std::size_t type() const { return type_; }  // alternative of FieldPointer

 private:
  std::function<FieldPointer(Scenario&)> edit_;
  std::function<FieldPointer(const Scenario&)> read_;  // empty: edit_ changes nothing
  std::size_t type_ = 0;
};

namespace detail {
template <auto First, auto... Rest>
auto& follow(auto& object) {
  if constexpr (sizeof...(Rest) == 0) {
    return object.*First;
  } else {
    return follow<Rest...>(object.*First);
  }
}
}  // namespace detail

// field<&Scenario::engine, &EngineSection::name> as a function `std::string& (Scenario&)`.
template <auto... Members>
inline constexpr auto field = +[](Scenario& scenario) -> auto& {
  return detail::follow<Members...>(scenario);
};

struct OptionRow {
  std::string_view pointer = {};  // JSON pointer: /engine/max_num_seqs
  FieldReach reach = {};
  std::string_view unit = {};     // empty for names and switches
  Bounds bounds = {};             // of numbers
  std::string_view choices = {};  // of texts: a|b|c; empty = any
  std::string_view doc = {};
  std::string_view absent = {};     // the meaning of an absent optional
  std::string_view only_with = {};  // pointer=a|b: the option has a meaning only then
  // The section that it is part of: results list it only when something of that was given.
  std::string_view group = {};
};

[[nodiscard]] std::span<const OptionRow> general_options();
[[nodiscard]] std::span<const OptionRow> slo_options();
[[nodiscard]] std::span<const OptionRow> engine_options();  // shared ones, then by owner
// What an option in `only_with` is set to; where it is absent, the engine's own part.
[[nodiscard]] std::string switch_state(std::string_view pointer, const Scenario& scenario);
// Whether `only_with` of the row holds. Policies of fleet.router may be those of routes alone.
[[nodiscard]] bool applies(const OptionRow& row, const Scenario& scenario);
[[nodiscard]] std::span<const OptionRow> trace_options();
[[nodiscard]] std::span<const OptionRow> workload_options();  // those of the trace included
[[nodiscard]] std::span<const OptionRow> fleet_options();
[[nodiscard]] const std::vector<OptionRow>& all_options();
// nullptr where none stands.
[[nodiscard]] const OptionRow* find_option(std::string_view pointer);
// The option that `value` gives where it stands for all of `section` ("arrivals": 20); nullptr: it
// does not.
[[nodiscard]] const OptionRow* main_option(std::string_view section, const Json& value);
// Of the elements of lists: /fleet/groups and those of fleet_lists(). They reach the first element.
[[nodiscard]] std::span<const OptionRow> fleet_element_options();
[[nodiscard]] std::span<const OptionRow> fleet_scaling_element_options();  // some of these
[[nodiscard]] std::span<const OptionRow> fleet_route_element_options();    // others

// "integer >= 1, tokens": what an error says is allowed.
[[nodiscard]] std::string allowed_text(const OptionRow& row);
[[nodiscard]] std::string type_name(const OptionRow& row);
[[nodiscard]] bool is_optional(const OptionRow& row);
[[nodiscard]] std::vector<std::string> choices_of(const OptionRow& row);

// The field as JSON; null for an empty optional.
[[nodiscard]] Json value_of(const OptionRow& row, const Scenario& scenario);

// Classes of a workload are parsed by the rows of /workload (and /slo): the pointer of a row below
// /workload/classes/<i>.
[[nodiscard]] std::string class_pointer(std::size_t number, std::string_view row_pointer);

// A part of a document and the part of the options that it holds: the same, but in lists.
struct OptionPlace {
  std::string pointer;  // in the document
  std::string options;  // of the rows
};
// Strict, as parse_scenario. Reads all options of `section` into `scenario`.
void read_option_section(const JsonDocument& document, const Json& section,
                         const OptionPlace& place, Scenario& scenario);
// One element of a list, by the rows of fleet_element_options() below `options`. `others`: keys
// that other code reads.
void read_option_element(const JsonDocument& document, const Json& element,
                         const OptionPlace& place, std::span<const std::string_view> others,
                         Scenario& scenario);
// An option that would change nothing is an error.
void check_option_conditions(const JsonDocument& document, const Scenario& scenario);

// Strict: unknown keys, wrong types and values out of range are ConfigErrors with place and cause.
[[nodiscard]] Scenario parse_scenario(const JsonDocument& document);

// set_value for a scenario: what is written for an option that is a text stays that text, so that
// engine.version=0.20 is release 0.20 and not the number 0.2.
void set_option(JsonDocument& document, std::string_view assignment,
                const std::string& given_as = {});

// JSON Schema (draft 2020-12) of scenario files, and the table `headroom list options` prints.
[[nodiscard]] Json scenario_schema();
[[nodiscard]] std::string options_table();

}  // namespace headroom
