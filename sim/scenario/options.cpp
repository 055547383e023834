#include "sim/scenario/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/engines/engines.hpp"
#include "sim/kernel/check.hpp"
#include "sim/kernel/nearest_name.hpp"
#include "sim/scenario/fleet_lists.hpp"
#include "sim/scenario/fleet_options.hpp"
#include "sim/scenario/short_values.hpp"

namespace headroom {
namespace {

constexpr std::string_view kWorkload = "/workload";
constexpr std::string_view kClasses = "/workload/classes";
constexpr std::size_t kMaxClasses = 255;  // records keep a class in a byte

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += separator;
    text += part;
  }
  return text;
}

std::string number_text(double value) {
  if (value == static_cast<double>(static_cast<std::int64_t>(value))) {
    return fmt::format("{}", static_cast<std::int64_t>(value));
  }
  return fmt::format("{}", value);
}

std::string bounds_text(const Bounds& bounds) {
  std::string text;
  if (bounds.low > -kNoBound) {
    text = fmt::format(" {} {}", bounds.low_open ? ">" : ">=", number_text(bounds.low));
  }
  if (bounds.high < kNoBound) {
    text += fmt::format("{} {} {}", text.empty() ? "" : " and",
                        bounds.high_open ? "<" : "<=", number_text(bounds.high));
  }
  return text;
}

bool within(double value, const Bounds& bounds) {
  const bool above = bounds.low_open ? value > bounds.low : value >= bounds.low;
  const bool below = bounds.high_open ? value < bounds.high : value <= bounds.high;
  return above && below;
}

// Reads one JSON value into the type of the field, or explains what is allowed.
class Reader {
 public:
  // `pointer`: where the value stands; that of the row, but for options of a class.
  Reader(const JsonDocument& document, const OptionRow& row, std::string pointer)
      : document_(document), row_(row), pointer_(std::move(pointer)) {}

  void read(const Json& value, bool& field) const {
    if (!value.is_boolean()) refuse(value);
    field = value.get<bool>();
  }
  void read(const Json& given, std::int64_t& field) const {
    const Json value = number_of(given);
    // 3.0 and 1e6 are integers that people write; 3.5 is not.
    if (!value.is_number()) refuse(given);
    if (!within(value.get<double>(), integer_bounds())) refuse(given);
    if (value.is_number_float()) {
      const double number = value.get<double>();
      const auto whole = static_cast<std::int64_t>(number);
      if (static_cast<double>(whole) != number) refuse(given);
      field = whole;
    } else {
      field = value.get<std::int64_t>();
    }
  }
  void read(const Json& given, double& field) const {
    const Json value = number_of(given);
    if (!value.is_number() || !within(value.get<double>(), row_.bounds)) refuse(given);
    field = value.get<double>();
  }
  void read(const Json& value, std::string& field) const {
    if (!value.is_string()) refuse(value);
    field = value.get<std::string>();
    const std::vector<std::string> known = choices_of(row_);
    if (known.empty() || std::ranges::find(known, field) != known.end()) return;
    throw value_error(document_, pointer_, value, allowed_text(row_), nearest_name(field, known),
                      ErrorKind::unknown);
  }
  template <typename Element>
  void read(const Json& value, std::vector<Element>& field) const {
    if (!value.is_array() || value.empty()) refuse(value);
    field.clear();
    for (const Json& element : value) {
      Element one{};
      read(element, one);
      field.push_back(std::move(one));
    }
  }
  template <typename T>
  void read(const Json& value, std::optional<T>& field) const {
    if (value.is_null()) {
      field.reset();
      return;
    }
    T inner{};
    read(value, inner);
    field = std::move(inner);
  }

 private:
  // "32k", "2s" and "85%" as numbers; anything else as it is, for the error.
  [[nodiscard]] Json number_of(const Json& value) const {
    if (!value.is_string()) return value;
    const auto number = short_number(value.get_ref<const std::string&>(), row_.unit, row_.bounds);
    return number ? Json(*number) : value;
  }
  // Beyond 2^53 a JSON number that went through a double is no longer the number that was written.
  [[nodiscard]] Bounds integer_bounds() const {
    Bounds bounds = row_.bounds;
    bounds.low = std::max(bounds.low, -9007199254740992.0);
    bounds.high = std::min(bounds.high, 9007199254740992.0);
    return bounds;
  }
  [[noreturn]] void refuse(const Json& value) const {
    throw value_error(document_, pointer_, value, fmt::format("expected {}", allowed_text(row_)));
  }

  const JsonDocument& document_;
  const OptionRow& row_;
  std::string pointer_;
};

bool is_section(const std::string& pointer) {
  const std::string prefix = pointer + "/";
  return std::ranges::any_of(all_options(),
                             [&](const OptionRow& row) { return row.pointer.starts_with(prefix); });
}

struct Condition {
  std::string_view pointer;
  std::vector<std::string> values;
};

std::vector<std::string> parts_of(std::string_view text, char separator) {
  std::vector<std::string> parts;
  if (text.empty()) return parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

Condition condition_of(const OptionRow& row) {
  const std::size_t equals = row.only_with.find('=');
  return {row.only_with.substr(0, equals), parts_of(row.only_with.substr(equals + 1), '|')};
}

// What `section` says of the switch at `key` ("law", "process"), else its default; null: unknown.
Json state_in(const Json& section, const std::string& prefix, const std::string& key) {
  if (section.contains(key)) return section.at(key);
  return value_of(*find_option(prefix + key), Scenario{});
}

// Whether the option at `rest` of the section has a meaning beside the section's own switches: a
// fixed length takes `tokens`, but no `values`.
bool fits_switch(const OptionRow& row, const Json& section, const std::string& prefix) {
  const Condition condition = condition_of(row);
  if (!condition.pointer.starts_with(prefix)) return true;
  const std::string key(condition.pointer.substr(prefix.size()));
  if (key.find('/') != std::string::npos) return true;
  const Json state = state_in(section, prefix, key);
  return !state.is_string() ||
         std::ranges::find(condition.values, state.get<std::string>()) != condition.values.end();
}

// Names that may stand directly in `section`, whose options are those below `pointer`.
std::vector<std::string> names_in(const std::string& pointer, const Json& section) {
  std::vector<std::string> names;
  const std::string prefix = pointer + "/";
  for (const OptionRow& row : all_options()) {
    if (!row.pointer.starts_with(prefix) || !fits_switch(row, section, prefix)) continue;
    const std::string_view rest = row.pointer.substr(prefix.size());
    const std::string name(rest.substr(0, rest.find('/')));
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  if (pointer == kWorkload) names.emplace_back("classes");
  if (pointer == "/fleet") names.emplace_back("groups");
  for (const FleetList& list : fleet_lists()) {
    const std::size_t slash = list.pointer.rfind('/');
    if (list.pointer.substr(0, slash) == pointer)
      names.emplace_back(list.pointer.substr(slash + 1));
  }
  return names;
}

// "unknown key", and in a section of few keys, which ones the law that it names takes.
std::string unknown_key_text(const Json& section, const std::string& pointer,
                             const std::vector<std::string>& known) {
  const std::string prefix = pointer + "/";
  const OptionRow* law = find_option(prefix + "law");
  if (law == nullptr) return "unknown key";
  const Json state = state_in(section, prefix, "law");
  if (!state.is_string()) return "unknown key";
  std::vector<std::string> others = known;
  std::erase(others, "law");
  return fmt::format("unknown key: law \"{}\" takes {}", state.get<std::string>(),
                     joined(others, ", "));
}

using Place = OptionPlace;

void read_classes(const JsonDocument& document, const Json& classes, const std::string& pointer,
                  Scenario& scenario);

}  // namespace

const OptionRow* main_option(std::string_view section, const Json& value) {
  if (section == kWorkload || !(value.is_string() || value.is_number())) return nullptr;
  const OptionRow* main = find_option(fmt::format("{}/{}", section, main_key(section)));
  const bool fits = main != nullptr && (value.is_string() || type_name(*main) != "text");
  return fits ? main : nullptr;
}

std::string switch_state(std::string_view pointer, const Scenario& scenario) {
  const Json state = value_of(*find_option(pointer), scenario);
  if (!state.is_null()) return state.is_string() ? state.get<std::string>() : state.dump();
  const Engine& engine = engine_named(scenario.engine.name);
  if (pointer == "/engine/kv_allocator") {
    return std::string(engine.allocator_for != nullptr ? engine.allocator_for(scenario.engine)
                                                       : engine.allocator);
  }
  HEADROOM_CHECK(pointer == "/engine/scheduler", "a switch without a value");
  if (engine.scheduler_at == nullptr) return std::string(engine.scheduler);
  try {
    return std::string(engine.scheduler_at(
        parse_engine_version(scenario.engine.version.value_or(std::string(engine.version)))));
  } catch (const ConfigError&) {
    return std::string(engine.scheduler);  // resolve() refuses that version by its place
  }
}

namespace {

// The value of the switch: one, except for the router's policy, because each route may have its
// own.
std::vector<std::string> states_of(std::string_view pointer, const Scenario& scenario) {
  if (pointer != "/fleet/router/policy" || scenario.fleet.routes.empty()) {
    return {switch_state(pointer, scenario)};
  }
  std::vector<std::string> policies;
  for (const RouteSection& route : scenario.fleet.routes) {
    const std::string& policy = route.policy ? *route.policy : scenario.fleet.router.policy;
    if (std::ranges::find(policies, policy) == policies.end()) policies.push_back(policy);
  }
  return policies;
}

}  // namespace

bool applies(const OptionRow& row, const Scenario& scenario) {
  if (row.only_with.empty()) return true;
  const Condition condition = condition_of(row);
  return std::ranges::any_of(states_of(condition.pointer, scenario), [&](const std::string& state) {
    return std::ranges::find(condition.values, state) != condition.values.end();
  });
}

namespace {

// An option that would change nothing is an error: its author believes that it does.
// `class_number`: only the options of that class.
void check_conditions(const JsonDocument& document, const Scenario& scenario,
                      std::optional<std::size_t> class_number) {
  for (const OptionRow& row : all_options()) {
    const std::string pointer =
        class_number ? class_pointer(*class_number, row.pointer) : std::string(row.pointer);
    if (!scenario.is_given(pointer) || applies(row, scenario)) continue;
    const Json value = value_of(row, scenario);
    if (value.is_null()) continue;
    const Condition condition = condition_of(row);
    throw value_error(document, pointer, value,
                      fmt::format("has no effect with {} = \"{}\"; only with {}", condition.pointer,
                                  joined(states_of(condition.pointer, scenario), "\" and \""),
                                  joined(condition.values, " or ")),
                      {}, ErrorKind::no_effect);
  }
}

void read_field(const JsonDocument& document, const Json& value, const OptionRow& row,
                const std::string& pointer, Scenario& scenario) {
  const Reader reader(document, row, pointer);
  std::visit([&](auto* field) { reader.read(value, *field); }, row.reach.edit(scenario));
}

// Of all options, the one whose last part looks most like `key`, by its path; may be empty.
std::string nearest_option(const std::string& key) {
  const auto last_part = [](const OptionRow& row) {
    return std::string(row.pointer.substr(row.pointer.rfind('/') + 1));
  };
  std::vector<std::string> names;
  for (const OptionRow& row : all_options()) names.push_back(last_part(row));
  const std::string nearest = nearest_name(key, names);
  if (nearest.empty()) return "";
  const auto found = std::ranges::find(names, nearest);
  std::string path(
      all_options()[static_cast<std::size_t>(found - names.begin())].pointer.substr(1));
  std::ranges::replace(path, '/', '.');
  return path;
}

void read_section(const JsonDocument& document, const Json& section, const Place& place,
                  Scenario& scenario) {
  for (const auto& [key, value] : section.items()) {
    const std::string token = pointer_token(key);
    const Place here{place.pointer + "/" + token, place.options + "/" + token};
    if (here.options == "/$schema") continue;  // editors find the schema by it
    if (const OptionRow* row = find_option(here.options)) {
      read_field(document, value, *row, here.pointer, scenario);
      scenario.given[here.pointer] = origin_of(document, here.pointer);
    } else if (const OptionRow* main = main_option(here.options, value)) {
      const std::string pointer = fmt::format("{}/{}", here.pointer, main_key(here.options));
      read_field(document, value, *main, pointer, scenario);
      scenario.given[pointer] = origin_of(document, here.pointer);
    } else if (is_section(here.options)) {
      if (!value.is_object())
        throw value_error(document, here.pointer, value, "expected an object");
      read_section(document, value, here, scenario);
    } else if (is_fleet_list(here.pointer)) {
      continue;  // read_fleet_lists, when everything else is known
    } else if (here.pointer == kClasses) {
      read_classes(document, value, here.pointer, scenario);
    } else {
      const std::vector<std::string> known = names_in(place.options, section);
      std::string nearest = nearest_name(key, known);
      if (nearest.empty() && place.options.empty()) nearest = nearest_option(key);
      throw key_error(
          document, here.pointer,
          nearest.empty() ? unknown_key_text(section, place.options, known) : "unknown key",
          ErrorKind::unknown, nearest);
    }
  }
}

// A class is read as the workload of a scenario of its own, with its SLO.
void read_classes(const JsonDocument& document, const Json& classes, const std::string& pointer,
                  Scenario& scenario) {
  if (!classes.is_array() || classes.empty() || classes.size() > kMaxClasses) {
    throw value_error(document, pointer, classes,
                      fmt::format("expected a list of 1 to {} classes", kMaxClasses));
  }
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const std::string here = fmt::format("{}/{}", pointer, i);
    if (!classes[i].is_object()) {
      throw value_error(document, here, classes[i], "expected an object");
    }
    Json workload = classes[i];
    Json slo = workload.value("slo", Json::object());
    workload.erase("slo");
    if (!slo.is_object()) throw value_error(document, here + "/slo", slo, "expected an object");
    Scenario one;
    read_section(document, workload, {here, std::string(kWorkload)}, one);
    read_section(document, slo, {here + "/slo", "/slo"}, one);
    check_conditions(document, one, i);
    scenario.workload.classes.push_back({std::move(one.workload), one.slo});
    scenario.given.merge(one.given);
  }
}

}  // namespace

std::string class_pointer(std::size_t number, std::string_view row_pointer) {
  if (row_pointer.starts_with(kWorkload)) row_pointer.remove_prefix(kWorkload.size());
  return fmt::format("{}/{}{}", kClasses, number, row_pointer);
}

const std::vector<OptionRow>& all_options() {
  static const std::vector<OptionRow> rows = [] {
    std::vector<OptionRow> all;
    for (const auto& part : {general_options(), slo_options(), engine_options(), fleet_options(),
                             workload_options()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return rows;
}

const OptionRow* find_option(std::string_view pointer) {
  const auto& rows = all_options();
  const auto found = std::ranges::find(rows, pointer, &OptionRow::pointer);
  return found == rows.end() ? nullptr : &*found;
}

std::string type_name(const OptionRow& row) {
  // By alternative of FieldPointer.
  constexpr std::array<std::string_view, 11> kNames{
      "true or false",    "true or false",   "integer",      "integer",
      "number",           "number",          "text",         "text",
      "list of integers", "list of numbers", "list of texts"};
  return std::string(kNames.at(row.reach.type()));
}

bool is_optional(const OptionRow& row) {
  constexpr std::array<bool, 11> kOptional{false, true, false, true,  false, true,
                                           false, true, false, false, false};
  return kOptional.at(row.reach.type());
}

std::vector<std::string> choices_of(const OptionRow& row) { return parts_of(row.choices, '|'); }

std::string allowed_text(const OptionRow& row) {
  if (!row.choices.empty()) return "one of " + joined(choices_of(row), ", ");
  return type_name(row) + bounds_text(row.bounds);
}

Json value_of(const OptionRow& row, const Scenario& scenario) {
  const auto json_of = []<typename Field>(const Field* field) -> Json {
    if constexpr (requires { field->has_value(); }) {
      return *field ? Json(**field) : Json(nullptr);
    } else {
      return Json(*field);
    }
  };
  return std::visit(json_of, row.reach.read(scenario));
}

Scenario parse_scenario(const JsonDocument& document) {
  if (!document.root.is_object()) {
    throw value_error(document, "", document.root, "expected an object");
  }
  Scenario scenario;
  scenario.file = document.name;
  read_section(document, document.root, {"", ""}, scenario);
  read_fleet_lists(document, scenario);
  check_conditions(document, scenario, std::nullopt);
  return scenario;
}

void read_option_section(const JsonDocument& document, const Json& section,
                         const OptionPlace& place, Scenario& scenario) {
  read_section(document, section, place, scenario);
}

void read_option_element(const JsonDocument& document, const Json& element,
                         const OptionPlace& place, std::span<const std::string_view> others,
                         Scenario& scenario) {
  if (!element.is_object()) {
    throw value_error(document, place.pointer, element, "expected an object");
  }
  std::vector<std::string> known(others.begin(), others.end());
  for (const OptionRow& row : fleet_element_options()) {
    if (!row.pointer.starts_with(place.options + "/")) continue;
    known.emplace_back(row.pointer.substr(place.options.size() + 1));
  }
  for (const auto& [key, value] : element.items()) {
    const std::string token = pointer_token(key);
    const std::string here = place.pointer + "/" + token;
    const auto row = std::ranges::find(fleet_element_options(), place.options + "/" + token,
                                       &OptionRow::pointer);
    if (row != fleet_element_options().end()) {
      read_field(document, value, *row, here, scenario);
      scenario.given[here] = origin_of(document, here);
    } else if (std::ranges::find(others, key) == others.end()) {
      throw key_error(document, here, "unknown key", ErrorKind::unknown, nearest_name(key, known));
    }
  }
}

void check_option_conditions(const JsonDocument& document, const Scenario& scenario) {
  check_conditions(document, scenario, std::nullopt);
}

}  // namespace headroom
