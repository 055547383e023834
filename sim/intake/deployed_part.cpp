#include "sim/intake/deployed_part.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace headroom {
namespace {

// Parts that differ in nothing but their number, as services of a compose file or units do.
std::vector<DeployedPart> counted(std::vector<DeployedPart> parts) {
  std::vector<DeployedPart> groups;
  for (DeployedPart& part : parts) {
    const auto same = std::ranges::find_if(groups, [&](const DeployedPart& group) {
      return group.group == part.group && group.role == part.role && group.device == part.device &&
             group.engine.scenario == part.engine.scenario;
    });
    if (same == groups.end()) {
      groups.push_back(std::move(part));
    } else {
      same->replicas += part.replicas;
    }
  }
  return groups;
}

void add_all(std::vector<std::string>& list, const std::vector<std::string>& more) {
  for (const std::string& one : more) {
    if (std::ranges::find(list, one) == list.end()) list.push_back(one);
  }
}

std::string engine_name(const DeployedPart& part) {
  return part.engine.scenario["engine"]["name"].get<std::string>();
}

// What every part whose engine has this name says in the same way.
Json shared_section(const std::vector<DeployedPart>& parts, const std::string& name) {
  Json shared = parts.front().engine.scenario["engine"];
  for (const DeployedPart& part : parts) {
    if (engine_name(part) != name) continue;
    const Json& own = part.engine.scenario["engine"];
    Json kept = Json::object();
    for (const auto& [key, value] : shared.items()) {
      if (own.contains(key) && own[key] == value) kept[key] = value;
    }
    shared = std::move(kept);
  }
  return shared;
}

// The group as it differs from the scenario's own sections.
Json group_of(const DeployedPart& part, const Json& base) {
  Json group = {{"name", part.group}, {"count", part.replicas}};
  if (!part.role.empty()) group["role"] = part.role;
  for (const char* key : {"model", "device", "environment"}) {
    const Json& own = part.engine.scenario;
    if (own.contains(key) && (!base.contains(key) || base[key] != own[key])) group[key] = own[key];
  }
  const Json& engine = part.engine.scenario["engine"];
  if (engine["name"] != base["engine"]["name"]) {
    group["engine"] = engine;
    return group;
  }
  for (const auto& [key, value] : engine.items()) {
    if (!base["engine"].contains(key)) group["engine"][key] = value;
  }
  return group;
}

Json fleet_of(const std::vector<DeployedPart>& parts, const Json& base) {
  Json fleet = Json::object();
  const bool grouped = parts.size() > 1 || !parts.front().group.empty();
  if (grouped) {
    fleet["groups"] = Json::array();
    for (const DeployedPart& part : parts) fleet["groups"].push_back(group_of(part, base));
  } else if (parts.front().replicas > 1) {
    fleet["replicas"] = parts.front().replicas;
  }
  for (const DeployedPart& part : parts) {
    if (!part.scaling) continue;
    Json scaling = Json::object();
    if (grouped) scaling["group"] = part.group;
    scaling.update(*part.scaling);
    if (!grouped && part.replicas == scaling.value("min_replicas", std::int64_t{1})) {
      fleet.erase("replicas");  // where the run begins anyway
    }
    fleet["autoscaling"].push_back(std::move(scaling));
  }
  return fleet;
}

// Two groups of one name are one fleet only with names of their own.
void name_apart(std::vector<DeployedPart>& parts) {
  if (parts.size() < 2) return;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::string& name = parts[i].group;
    if (name.empty()) name = fmt::format("group-{}", i);
    for (std::size_t j = 0; j < i; ++j) {
      if (parts[j].group == name) name += fmt::format("-{}", i);
    }
  }
}

}  // namespace

FromResult scenario_of_parts(std::vector<DeployedPart> parts) {
  parts = counted(std::move(parts));
  name_apart(parts);
  for (DeployedPart& part : parts) {
    if (!part.device.empty()) part.engine.scenario["device"] = part.device;
  }
  FromResult all;
  all.engine = parts.front().engine.engine;
  Json base = Json::object();
  const Json& first = parts.front().engine.scenario;
  for (const char* key : {"model", "device"}) {
    if (first.contains(key)) base[key] = first[key];
  }
  base["engine"] = shared_section(parts, engine_name(parts.front()));
  if (first.contains("environment")) base["environment"] = first["environment"];
  Json fleet = fleet_of(parts, base);
  if (!fleet.empty()) base["fleet"] = std::move(fleet);
  all.scenario = std::move(base);
  for (const DeployedPart& part : parts) {
    add_all(all.unknown_flags, part.engine.unknown_flags);
    add_all(all.ignored_flags, part.engine.ignored_flags);
    add_all(all.notes, part.engine.notes);
    add_all(all.refusals, part.engine.refusals);
  }
  return all;
}

std::string left_out_note(const std::string& service, const ConfigError& error) {
  return fmt::format("{} is left out, and what it holds of the device is not counted: {}", service,
                     error.what());
}

}  // namespace headroom
