// Command lines: bare, and as services of systemd (systemd.service(5)). Both are for the devices of
// one host.

#include <fmt/format.h>

#include "sim/deploy/forms.hpp"
#include "sim/deploy/yaml_text.hpp"
#include "sim/intake/shell_words.hpp"
#include "sim/kernel/visible_text.hpp"

namespace headroom {
namespace {

// What systemd reads as these texts: "%" is its own, and "$" asks for a variable in a command.
std::string unit_text(const std::string& text, std::string_view special = "%") {
  std::string result;
  for (const char c : text) {
    result += c;
    if (special.find(c) != std::string_view::npos) result += c;
  }
  return result;
}

std::string settings_file_of(const DeployedGroup& group) { return group.name + ".yaml"; }

std::vector<std::string> words_of(const DeployedGroup& group, const std::string& settings) {
  std::vector<std::string> words = group.program;
  words.insert(words.end(), group.flags.begin(), group.flags.end());
  if (!group.settings.is_null()) {
    words.emplace_back(group.facts().settings_flag);
    words.push_back(settings);
  }
  return words;
}

std::string devices_text(std::int64_t first, std::int64_t count) {
  std::string text;
  for (std::int64_t i = 0; i < count; ++i) {
    text += fmt::format("{}{}", text.empty() ? "" : ",", first + i);
  }
  return text;
}

std::string unit_of(const Deployment& deployment, const DeployedGroup& group,
                    std::int64_t first_device, std::int64_t port) {
  std::vector<std::string> words = words_of(group, "/etc/headroom/" + settings_file_of(group));
  words.emplace_back(group.facts().port_flag);
  words.push_back(fmt::to_string(port));
  // A unit needs the program's path; env finds it.
  words.insert(words.begin(), "/usr/bin/env");
  std::string text = comment_text(deployment.head);
  text += fmt::format("[Unit]\nDescription={}\nAfter=network-online.target\n\n[Service]\n",
                      unit_text(group.name));
  text +=
      fmt::format("Environment=CUDA_VISIBLE_DEVICES={}\n", devices_text(first_device, group.gpus));
  for (const auto& [name, value] : group.environment) {
    text += fmt::format("Environment={}\n", unit_text(shell_word(name + "=" + value)));
  }
  text += fmt::format("ExecStart={}\n", unit_text(shell_line(words), "%$"));
  if (group.memory_limit_gib) {
    text += fmt::format("MemoryMax={:.0f}M\n", *group.memory_limit_gib * 1024);
  }
  // The unit has started when the server answers.
  const std::int64_t failures = start_failures(group, 10);
  text += fmt::format(
      "ExecStartPost=/usr/bin/env curl --silent --fail --output /dev/null --retry {} "
      "--retry-delay 10 --retry-all-errors http://127.0.0.1:{}{}\n",
      failures, port, group.facts().health_path);
  text += fmt::format("TimeoutStartSec={}\nRestart=always\n", 10 * failures + 60);
  if (!group.group.empty()) text += fmt::format("X-Headroom-Group={}\n", visible_text(group.group));
  if (!group.role.empty()) text += fmt::format("X-Headroom-Role={}\n", group.role);
  text += fmt::format("X-Headroom-Device={}\n", group.device);
  return text + "\n[Install]\nWantedBy=multi-user.target\n";
}

}  // namespace

DeploymentFiles unit_files(const Deployment& deployment) {
  DeploymentFiles files;
  std::int64_t devices = 0;
  std::int64_t port = kEnginePort;
  for (const DeployedGroup& group : deployment.groups) {
    for (std::int64_t i = 0; i < group.replicas; ++i) {
      files.push_back(
          {fmt::format("{}-{}.service", group.name, i), unit_of(deployment, group, devices, port)});
      devices += group.gpus;
      ++port;
    }
    if (!group.settings.is_null()) {
      files.push_back({settings_file_of(group), yaml_text(group.settings)});
    }
  }
  return files;
}

DeploymentFiles command_files(const Deployment& deployment) {
  std::string text = comment_text(deployment.head);
  DeploymentFiles files{{"command.sh", ""}};
  for (const DeployedGroup& group : deployment.groups) {
    if (deployment.groups.size() > 1 || group.replicas > 1) {
      text += comment_text({fmt::format("{} x {}", group.replicas, group.name)});
    }
    for (const auto& [name, value] : group.environment) {
      text += fmt::format("{}={} ", name, shell_word(value));
    }
    text += shell_line(words_of(group, settings_file_of(group))) + "\n";
    if (!group.settings.is_null()) {
      files.push_back({settings_file_of(group), yaml_text(group.settings)});
    }
  }
  files.front().text = std::move(text);
  return files;
}

}  // namespace headroom
