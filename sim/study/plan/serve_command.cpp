#include "sim/study/plan/serve_command.hpp"

#include <fmt/format.h>

#include <optional>

#include "sim/engines/engines.hpp"
#include "sim/engines/launch.hpp"

namespace headroom {
namespace {

// The spelling that launchers' own pages use: the first one.
std::string_view first_name(const FlagRow& row) { return row.names.substr(0, row.names.find('|')); }

// What stands behind a flag for a value of the option; nothing: this flag cannot say it.
std::optional<std::string> flag_text(const FlagRow& row, const Json& value) {
  const std::string name(first_name(row));
  if (name.empty()) return std::nullopt;
  if (!row.constant.empty()) {
    return Json::parse(row.constant) == value ? std::optional(name) : std::nullopt;
  }
  if (row.takes == Takes::nothing || row.takes == Takes::toggle) {
    if (!value.is_boolean()) return std::nullopt;
    if (value.get<bool>()) return name;
    if (row.takes == Takes::nothing) return std::nullopt;
    return fmt::format("--no-{}", name.substr(2));
  }
  if (value.is_string()) return fmt::format("{} {}", name, value.get<std::string>());
  if (!value.is_number() && !value.is_boolean()) return std::nullopt;
  return fmt::format("{} {}", name, value.dump());
}

}  // namespace

ServeCommand serve_command(const Json& engine, const std::string& model) {
  ServeCommand command;
  const Engine* profile = find_engine(engine.value("name", std::string()));
  const EngineLaunch* launch = profile == nullptr ? nullptr : profile->launch;
  if (launch == nullptr || launch->command.empty()) return command;
  command.text = fmt::format(fmt::runtime(launch->command), model);
  for (const auto& [key, value] : engine.items()) {
    if (key == "name" || key == "version") continue;
    std::optional<std::string> text;
    for (const FlagRow& row : launch->rows) {
      if (row.pointer != "/engine/" + key) continue;
      text = flag_text(row, value);
      if (text) break;
    }
    if (text) {
      command.text += " " + *text;
    } else {
      command.not_a_flag.push_back(key);
    }
  }
  return command;
}

}  // namespace headroom
