#include "sim/setup/fleet_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

namespace headroom {
namespace {

constexpr std::string_view kGroups = "/fleet/groups";
constexpr std::string_view kCrashes = "/fleet/faults/crashes";
constexpr std::string_view kSlow = "/fleet/faults/slow";
constexpr std::size_t kMaxElements = 1000;

// Sections of the scenario that a group may say anew.
constexpr std::array<std::string_view, 6> kOfGroup{"model",       "model_override", "device",
                                                   "environment", "engine",         "cost"};

// The list at `pointer`, or nothing.
const Json* list_at(const JsonDocument& document, std::string_view pointer) {
  const Json::json_pointer place{std::string(pointer)};
  if (!document.root.contains(place)) return nullptr;
  const Json& list = document.root.at(place);
  if (!list.is_array() || list.empty() || list.size() > kMaxElements) {
    throw value_error(document, std::string(pointer), list,
                      fmt::format("expected a list of 1 to {} objects", kMaxElements));
  }
  return &list;
}

void require(const JsonDocument& document, const Scenario& scenario, const std::string& here,
             std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (scenario.is_given(fmt::format("{}/{}", here, name))) continue;
    throw key_error(document, here, fmt::format("missing: {}", name));
  }
}

void forget(Scenario& scenario, std::string_view pointer) {
  const std::string below = fmt::format("{}/", pointer);
  std::erase_if(scenario.given, [&](const auto& one) {
    return one.first == pointer || one.first.starts_with(below);
  });
}

// What `value` calls the section's thing; empty: it does not say.
std::string name_in(const Json& value, const char* key) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_object() || !value.contains(key) || !value.at(key).is_string()) return "";
  return value.at(key).get<std::string>();
}

// Another engine does not know the options of the one before.
template <typename Section>
void begin_anew(Scenario& one, Section Scenario::*section, const std::string& had,
                const Json& value, const char* pointer, const char* key = "name") {
  const std::string name = name_in(value, key);
  if (name.empty() || name == had) return;
  one.*section = Section{};
  forget(one, pointer);
}

void begin_section(Scenario& one, const std::string& key, const Json& value) {
  if (key == "device") begin_anew(one, &Scenario::device, one.device.name, value, "/device");
  if (key == "engine") begin_anew(one, &Scenario::engine, one.engine.name, value, "/engine");
  if (key == "environment") {
    begin_anew(one, &Scenario::environment, one.environment.name, value, "/environment");
  }
  if (key == "cost") begin_anew(one, &Scenario::cost, one.cost.level, value, "/cost", "level");
  if (key == "model" && name_in(value, "") != one.model) {
    one.model_override.clear();
    forget(one, "/model_override");
  }
}

// What the group says stands at its own place in the document, and at the scenario's in results.
void move_given(Scenario& one, const std::string& here) {
  std::map<std::string, std::string> moved;
  std::erase_if(one.given, [&](const auto& given) {
    if (!given.first.starts_with(here + "/")) return false;
    const std::string origin =
        given.second == one.file ? fmt::format("{}: {}", one.file, here) : given.second;
    moved[given.first.substr(here.size())] = origin;
    return true;
  });
  for (auto& [pointer, origin] : moved) one.given[pointer] = origin;
}

Scenario scenario_of(const JsonDocument& document, const Json& group, const std::string& here,
                     const Scenario& base) {
  Scenario one = base;
  one.fleet = {};
  forget(one, "/fleet");
  Json sections = Json::object();
  for (const auto& [key, value] : group.items()) {
    if (std::ranges::find(kOfGroup, key) == kOfGroup.end()) continue;
    begin_section(one, key, value);
    sections[key] = value;
  }
  read_option_section(document, sections, {here, ""}, one);
  move_given(one, here);
  return one;
}

void read_groups(const JsonDocument& document, const Json& list, Scenario& scenario) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string here = fmt::format("{}/{}", kGroups, i);
    Scenario holder;
    holder.fleet.groups.resize(1);
    read_option_element(document, list[i], {here, std::string(kGroups)}, kOfGroup, holder);
    require(document, holder, here, {"name"});
    GroupSection group = holder.fleet.groups.front();
    Scenario one = scenario_of(document, list[i], here, scenario);
    try {
      check_option_conditions(document, one);
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("{} (in fleet group {})", error.what(), group.name));
    }
    group.scenario = std::make_shared<const Scenario>(std::move(one));
    scenario.fleet.groups.push_back(std::move(group));
    scenario.given.merge(holder.given);
  }
}

template <typename Element>
void read_faults(const JsonDocument& document, std::string_view pointer,
                 std::vector<Element> FaultsSection::*elements,
                 std::initializer_list<const char*> required, Scenario& scenario) {
  const Json* list = list_at(document, pointer);
  if (list == nullptr) return;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string here = fmt::format("{}/{}", pointer, i);
    Scenario holder;
    (holder.fleet.faults.*elements).resize(1);
    read_option_element(document, (*list)[i], {here, std::string(pointer)}, {}, holder);
    require(document, holder, here, required);
    (scenario.fleet.faults.*elements).push_back((holder.fleet.faults.*elements).front());
    scenario.given.merge(holder.given);
  }
}

}  // namespace

bool is_fleet_list(std::string_view pointer) {
  return pointer == kGroups || pointer == kCrashes || pointer == kSlow;
}

std::vector<std::pair<std::string, Json>> fleet_list_values(const Scenario& scenario) {
  std::vector<std::pair<std::string, Json>> values;
  const auto add = [&](std::string_view list, std::size_t i, const Scenario& one) {
    for (const OptionRow& row : fleet_element_options()) {
      if (!row.pointer.starts_with(fmt::format("{}/", list))) continue;
      const std::string pointer = fmt::format("{}/{}{}", list, i, row.pointer.substr(list.size()));
      if (scenario.is_given(pointer)) values.emplace_back(pointer, value_of(row, one));
    }
  };
  const FleetSection& fleet = scenario.fleet;
  Scenario one;
  for (std::size_t i = 0; i < fleet.groups.size(); ++i) {
    one.fleet.groups = {fleet.groups[i]};
    add(kGroups, i, one);
  }
  for (std::size_t i = 0; i < fleet.faults.crashes.size(); ++i) {
    one.fleet.faults.crashes = {fleet.faults.crashes[i]};
    add(kCrashes, i, one);
  }
  for (std::size_t i = 0; i < fleet.faults.slow.size(); ++i) {
    one.fleet.faults.slow = {fleet.faults.slow[i]};
    add(kSlow, i, one);
  }
  return values;
}

void read_fleet_lists(const JsonDocument& document, Scenario& scenario) {
  read_faults(document, kCrashes, &FaultsSection::crashes, {"replica", "at_s"}, scenario);
  read_faults(document, kSlow, &FaultsSection::slow, {"replica", "at_s", "for_s", "factor"},
              scenario);
  if (const Json* list = list_at(document, kGroups)) read_groups(document, *list, scenario);
}

}  // namespace headroom
