#include "sim/scenario/fleet_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "sim/scenario/fleet_lists.hpp"

namespace headroom {
namespace {

constexpr std::string_view kGroups = "/fleet/groups";

// Sections of the scenario that a group may say anew.
constexpr std::array<std::string_view, 6> kOfGroup{"model",       "model_override", "device",
                                                   "environment", "engine",         "cost"};

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
    require_keys(document, holder, here, std::array{"name"});
    GroupSection group = holder.fleet.groups.front();
    Scenario one = scenario_of(document, list[i], here, scenario);
    try {
      check_option_conditions(document, one);
    } catch (const ConfigError& error) {
      throw error.with_context(fmt::format("in fleet group {}", group.name));
    }
    group.scenario = std::make_shared<const Scenario>(std::move(one));
    scenario.fleet.groups.push_back(std::move(group));
    scenario.given.merge(holder.given);
  }
}

}  // namespace

bool is_fleet_list(std::string_view pointer) {
  return pointer == kGroups ||
         std::ranges::find(fleet_lists(), pointer, &FleetList::pointer) != fleet_lists().end();
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
  for (const FleetList& list : fleet_lists()) {
    for (std::size_t i = 0; i < list.size(scenario); ++i) {
      add(list.pointer, i, list.alone(&scenario, i));
    }
  }
  return values;
}

void read_fleet_lists(const JsonDocument& document, Scenario& scenario) {
  for (const FleetList& list : fleet_lists()) read_list(document, list, scenario);
  if (const Json* list = list_at(document, kGroups)) read_groups(document, *list, scenario);
}

}  // namespace headroom
