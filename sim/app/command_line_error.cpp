#include "sim/app/command_line_error.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <string_view>

#include "sim/kernel/nearest_name.hpp"
#include "sim/scenario/options.hpp"
#include "sim/scenario/short_paths.hpp"
#include "sim/study/plan/plan_file.hpp"

namespace headroom {
namespace {

// The command that the first words name, and how many of them do.
struct ChosenCommand {
  const CLI::App* app = nullptr;
  std::string name;  // "fleet plan"; empty: none is named
  std::size_t words = 0;
};

ChosenCommand chosen_command(const CLI::App& app, const std::vector<std::string>& words) {
  ChosenCommand chosen{.app = &app, .name = {}};
  while (chosen.words < words.size()) {
    const CLI::App* next = part_named(*chosen.app, words[chosen.words]);
    if (next == nullptr) break;
    chosen.app = next;
    chosen.name += (chosen.name.empty() ? "" : " ") + words[chosen.words];
    ++chosen.words;
  }
  return chosen;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* one : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(one->get_name());
  }
  return names;
}

// Whether a scenario has one value at this path: an option, or a section that may be written as
// one.
bool takes_value(std::string_view path) {
  std::string pointer = fmt::format("/{}", path);
  std::ranges::replace(pointer, '.', '/');
  if (pointer == "/workload") return false;  // its name is not what it is
  return find_option(pointer) != nullptr ||
         find_option(fmt::format("{}/{}", pointer, main_key(pointer))) != nullptr;
}

// Where a scenario has an option that --set knows by this name; empty: nowhere, or at several
// places.
std::string scenario_path(const std::string& name) {
  try {
    const std::string path = whole_path(name, "");
    return takes_value(path) ? path : "";
  } catch (const ConfigError&) {
    return "";
  }
}

// Likewise in a plan; of its lists those of numbers.
std::string plan_setting(const std::string& name, std::string_view value) {
  const Json schema = plan_schema();
  const Json& own = schema.at("properties");
  if (own.contains(name)) {
    const Json type = own[name].value("type", Json());
    if (type == "array") {
      const Json element = own[name]["items"].value("type", Json());
      const bool is_plain = element == "integer" || element == "number";
      return is_plain ? fmt::format("{}=[{}]", name, value) : "";
    }
    return type == "object" ? "" : fmt::format("{}={}", name, value);
  }
  const std::string path = scenario_path(name);
  if (!path.starts_with("workload.")) return "";
  return fmt::format("traffic.scenario.{}={}", path, value);
}

// The first word that looks like an option and is none of the command. Empty: there is none.
std::string unknown_option_text(const ChosenCommand& chosen,
                                const std::vector<std::string>& words) {
  for (std::size_t i = chosen.words; i < words.size(); ++i) {
    const std::string flag = words[i].substr(0, words[i].find('='));
    // A number below 0 is a value.
    if (flag.size() < 2 || flag.front() != '-' || (flag[1] >= '0' && flag[1] <= '9')) continue;
    if (flag == "--" || chosen.app->get_option_no_throw(flag) != nullptr) continue;
    if (!flag.starts_with("--")) continue;  // short ones may be written together
    const std::string whose = chosen.name.empty() ? "headroom" : chosen.name;
    std::string text = fmt::format("{}: no option of {}", flag, whose);
    const bool has_value = i + 1 < words.size() && !words[i + 1].starts_with('-');
    const std::string value = flag.size() < words[i].size() ? words[i].substr(flag.size() + 1)
                              : has_value                   ? words[i + 1]
                                                            : "VALUE";
    const bool of_plan = chosen.name == "fleet plan";
    const std::string setting = setting_of_flag(flag, value, of_plan);
    if (!setting.empty() && chosen.app->get_option_no_throw("--set") != nullptr) {
      return text + fmt::format("; {} have it: --set {}", of_plan ? "plans" : "scenarios", setting);
    }
    std::vector<std::string> known;
    for (const CLI::Option* option : chosen.app->get_options()) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
    const std::string nearest = nearest_name(flag, known);
    return nearest.empty() ? text : text + fmt::format(" (nearest: {})", nearest);
  }
  return "";
}

// Of a command that consists of others.
std::string missing_command_text(const ChosenCommand& chosen,
                                 const std::vector<std::string>& words) {
  const std::vector<std::string> names = command_names(*chosen.app);
  const std::string allowed =
      fmt::format("expected {}{}", names.size() > 1 ? "one of " : "", comma_list(names));
  if (chosen.words >= words.size()) return fmt::format("{}: {}", chosen.name, allowed);
  const std::string& word = words[chosen.words];
  const std::string nearest = names.size() > 1 ? nearest_name(word, names) : "";
  std::string text = fmt::format("{} {}: {}", chosen.name, word, allowed);
  if (!nearest.empty()) return text + fmt::format(" (nearest: {})", nearest);
  // A file, where the word before it is missing.
  if (word.find('.') == std::string::npos) return text;
  return text + fmt::format(": headroom {} {} {}", chosen.name, names.front(), word);
}

// "Could not convert: --users = 2.5", of CLI::ConversionError.
std::string conversion_text(const CLI::App& command, std::string_view what) {
  constexpr std::string_view kBegin = "Could not convert: ";
  constexpr std::string_view kEquals = " = ";
  const std::size_t equals = what.find(kEquals);
  if (!what.starts_with(kBegin) || equals == std::string_view::npos) return std::string(what);
  const std::string flag(what.substr(kBegin.size(), equals - kBegin.size()));
  const CLI::Option* option = command.get_option_no_throw(flag);
  if (option == nullptr) return std::string(what);
  const std::string type = option->get_type_name();
  return fmt::format("{} {}: expected a {}", flag, what.substr(equals + kEquals.size()),
                     type.starts_with("FLOAT") ? "number" : "whole number");
}

// "scenario is required" of CLI::RequiredError, "--users: 1 required INT missing" of
// CLI::ArgumentMismatch, and "--rate: At Most 1 required but received 2"; others as they are.
std::string missing_text(const ChosenCommand& chosen, const std::string& what) {
  constexpr std::string_view kRequired = " is required";
  const std::size_t colon = what.find(": 1 required ");
  if (colon != std::string::npos) return what.substr(0, colon) + ": its value is missing";
  const std::size_t twice = what.find(": At Most 1 required ");
  if (twice != std::string::npos) return what.substr(0, twice) + ": is given more than once";
  if (!what.ends_with(kRequired)) return what;
  return fmt::format("{}: {} is missing", chosen.name,
                     what.substr(0, what.size() - kRequired.size()));
}

std::string error_text(const ChosenCommand& chosen, const std::vector<std::string>& words,
                       const CLI::ParseError& error) {
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) {
    return conversion_text(*chosen.app, error.what());
  }
  const bool has_extras = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  const bool misses = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  if (has_extras || misses) {
    std::string unknown = unknown_option_text(chosen, words);
    if (!unknown.empty()) return unknown;
  }
  if (misses && !command_names(*chosen.app).empty()) return missing_command_text(chosen, words);
  return missing_text(chosen, error.what());
}

}  // namespace

std::string setting_of_flag(std::string flag, std::string_view value, bool of_plan) {
  flag.erase(0, flag.find_first_not_of('-'));
  std::ranges::replace(flag, '-', '_');
  if (of_plan) return plan_setting(flag, value);
  const std::string path = scenario_path(flag);
  return path.empty() ? "" : fmt::format("{}={}", path, value);
}

const CLI::App* part_named(const CLI::App& command, std::string_view name) {
  const auto parts =
      command.get_subcommands([name](const CLI::App* part) { return part->get_name() == name; });
  return parts.empty() ? nullptr : parts.front();
}

ConfigError command_line_error(const CLI::App& app, const std::vector<std::string>& words,
                               const CLI::ParseError& error) {
  const ChosenCommand chosen = chosen_command(app, words);
  return ConfigError(fmt::format("command line: {} (see headroom {}{}--help)",
                                 error_text(chosen, words, error), chosen.name,
                                 chosen.name.empty() ? "" : " "));
}

}  // namespace headroom
