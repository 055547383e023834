// scenario_from_units: systemd.service(5) and systemd.exec(5): ExecStart, Environment, and the keys
// that begin with X-, which systemd leaves to others.

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "sim/intake/deployed_part.hpp"
#include "sim/intake/draft.hpp"
#include "sim/intake/launch.hpp"
#include "sim/intake/shell_words.hpp"
#include "sim/intake/values.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

// "Key=value" lines; a backslash at the end continues one. Later keys come behind earlier ones.
std::vector<std::pair<std::string, std::string>> settings_of(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> settings;
  std::istringstream lines(text);
  std::string line;
  std::string whole;
  while (std::getline(lines, line)) {
    if (line.ends_with('\r')) line.pop_back();
    if (whole.empty() && (line.starts_with('#') || line.starts_with(';'))) continue;
    whole += line;
    if (whole.ends_with('\\')) {
      whole.back() = ' ';
      continue;
    }
    const std::size_t equals = whole.find('=');
    if (equals != std::string::npos) {
      settings.emplace_back(trimmed(std::string_view(whole).substr(0, equals)),
                            trimmed(std::string_view(whole).substr(equals + 1)));
    }
    whole.clear();
  }
  return settings;
}

// "%%" is "%", and "$$" in a command is "$"; other specifiers and variables stay.
std::string without_escapes(std::string text, const std::string& escaped) {
  for (std::size_t at = text.find(escaped); at != std::string::npos;
       at = text.find(escaped, at + 1)) {
    text.erase(at, 1);
  }
  return text;
}

DeployedPart part_of_unit(const DeploymentText& file, std::string_view release) {
  Draft draft(file.name);
  DeployedPart part;
  std::string command;
  for (const auto& [key, value] : settings_of(file.text)) {
    if (key == "ExecStart") {
      command = without_escapes(without_escapes(value, "%%"), "$$");
      command.erase(0, std::min(command.find_first_not_of("@-:+!"), command.size()));
    } else if (key == "Environment") {
      for (const std::string& word : split_words(without_escapes(value, "%%"), file.name)) {
        const std::size_t equals = assignment_at(word);
        if (equals > 0) draft.variables[word.substr(0, equals)] = word.substr(equals + 1);
      }
    } else if (key == "EnvironmentFile") {
      draft.unknown(fmt::format("EnvironmentFile={}: not read", value));
    } else if (key == "X-Headroom-Group") {
      part.group = value;
    } else if (key == "X-Headroom-Role") {
      part.role = value;
    } else if (key == "X-Headroom-Device") {
      part.device = value;
    }
  }
  if (command.empty() || !read_launch(draft, split_words(command, file.name))) {
    throw ConfigError(Complaint{
        .origin = file.name,
        .pointer = "ExecStart",
        .problem = fmt::format("starts no known engine; supported: {}", understood_commands())});
  }
  part.engine = finished(std::move(draft), release);
  return part;
}

}  // namespace

bool holds_unit(const std::string& text) {
  return (text.starts_with("[Service]") || text.find("\n[Service]") != std::string::npos) &&
         text.find("\nExecStart=") != std::string::npos;
}

FromResult scenario_from_units(const std::vector<DeploymentText>& files, std::string_view release) {
  std::vector<DeployedPart> parts;
  for (const DeploymentText& file : files) parts.push_back(part_of_unit(file, release));
  return scenario_of_parts(std::move(parts));
}

}  // namespace headroom
