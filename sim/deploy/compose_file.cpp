// A compose file for one host: a service per replica, each with devices and a port of its own, and
// what replicas of a group share in one fragment
// (https://docs.docker.com/reference/compose-file/fragments/).

#include <fmt/format.h>

#include <sstream>

#include "sim/deploy/forms.hpp"
#include "sim/deploy/yaml_text.hpp"
#include "sim/intake/deployed_part.hpp"

namespace headroom {
namespace {

constexpr const char* kSettingsPath = "/etc/engine/engine.yaml";

// Compose replaces $NAME by a variable of the caller's.
std::string literal(std::string text) {
  for (std::size_t at = text.find('$'); at != std::string::npos; at = text.find('$', at + 2)) {
    text.insert(at, 1, '$');
  }
  return text;
}

std::string label_of(std::string key) {
  key[key.find('/')] = '.';
  return key;
}

Json health_of(const DeployedGroup& group) {
  const std::string url =
      fmt::format("http://localhost:{}{}", kEnginePort, group.facts().health_path);
  const std::string code =
      fmt::format("import urllib.request; urllib.request.urlopen('{}', timeout=5)", url);
  return {{"test", Json::array({"CMD", "python3", "-c", code})},
          {"interval", "10s"},
          {"retries", 6},
          {"start_period", fmt::format("{}s", 10 * start_failures(group, 10))}};
}

// What the replicas of a group have in common.
Json fragment_of(const DeployedGroup& group) {
  std::vector<std::string> flags = listening_flags(group, "0.0.0.0", kEnginePort);
  if (!group.settings.is_null()) {
    flags.emplace_back(group.facts().settings_flag);
    flags.emplace_back(kSettingsPath);
  }
  Json fragment = {{"image", group.image}};
  fragment["entrypoint"] = group.program;
  fragment["command"] = Json::array();
  for (const std::string& flag : flags) fragment["command"].push_back(literal(flag));
  for (const auto& [name, value] : group.environment) {
    fragment["environment"][name] = literal(value);
  }
  fragment["environment"]["HF_HOME"] = "/cache";
  fragment["environment"]["HF_TOKEN"] = "${HF_TOKEN:-}";
  if (group.shared_memory_gib) {
    fragment["shm_size"] = gibibytes(*group.shared_memory_gib) + "b";
  } else {
    fragment["ipc"] = "host";
  }
  if (group.memory_limit_gib) fragment["mem_limit"] = gibibytes(*group.memory_limit_gib) + "b";
  fragment["labels"] = {{"headroom.replica", "true"}, {label_of(kDeviceKey), group.device}};
  if (!group.group.empty()) fragment["labels"][label_of(kGroupKey)] = literal(group.group);
  if (!group.role.empty()) fragment["labels"][label_of(kRoleKey)] = group.role;
  fragment["volumes"] = Json::array({"cache:/cache"});
  fragment["healthcheck"] = health_of(group);
  fragment["restart"] = "unless-stopped";
  if (!group.settings.is_null()) {
    fragment["configs"] = Json::array({{{"source", group.name}, {"target", kSettingsPath}}});
  }
  return fragment;
}

std::string indented(const std::string& text) {
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line);) result += "  " + line + "\n";
  return result;
}

std::string service_of_replica(const DeployedGroup& group, std::int64_t first_device,
                               std::int64_t number) {
  Json ids = Json::array();
  for (std::int64_t i = 0; i < group.gpus; ++i) ids.push_back(fmt::to_string(first_device + i));
  const Json device = {{"driver", "nvidia"}, {"device_ids", ids}, {"capabilities", {"gpu"}}};
  Json service = {
      {"ports", Json::array({fmt::format("{}:{}", kEnginePort + number, kEnginePort)})}};
  service["deploy"]["resources"]["reservations"]["devices"] = Json::array({device});
  return indented(fmt::format("<<: *{}\n{}", group.name, yaml_text(service)));
}

}  // namespace

DeploymentFiles compose_files(const Deployment& deployment) {
  std::string text = comment_text(deployment.head);
  std::string services = "services:\n";
  Json configs = Json::object();
  std::int64_t devices = 0;
  std::int64_t number = 0;
  for (const DeployedGroup& group : deployment.groups) {
    if (group.image.empty()) refuse_form("compose", group, "no image of this engine is known");
    text += fmt::format("x-{}: &{}\n{}\n", group.name, group.name,
                        indented(yaml_text(fragment_of(group))));
    if (!group.settings.is_null()) {
      configs[group.name] = {{"content", literal(yaml_text(group.settings))}};
    }
    for (std::int64_t i = 0; i < group.replicas; ++i) {
      services += fmt::format("  {}-{}:\n{}", group.name, i,
                              indented(service_of_replica(group, devices, number)));
      devices += group.gpus;
      ++number;
    }
  }
  text += services + "\nvolumes:\n  cache:\n";
  if (!configs.empty()) text += "\n" + yaml_text({{"configs", configs}});
  return {{"compose.yaml", std::move(text)}};
}

}  // namespace headroom
