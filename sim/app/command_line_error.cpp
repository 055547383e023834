#include "sim/app/command_line_error.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <optional>
#include <string_view>

#include "sim/kernel/nearest_name.hpp"
#include "sim/scenario/options.hpp"

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

// "/engine/max_num_seqs" as --set takes it, of a flag "--max-num-seqs".
std::optional<std::string> path_of_flag(std::string flag) {
  flag.erase(0, flag.find_first_not_of('-'));
  std::ranges::replace(flag, '-', '_');
  for (const OptionRow& row : all_options()) {
    std::string path(row.pointer.substr(1));
    std::ranges::replace(path, '/', '.');
    if (path == flag || path.ends_with("." + flag)) return path;
  }
  return std::nullopt;
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
    const std::optional<std::string> path = path_of_flag(flag);
    if (path && chosen.app->get_option_no_throw("--set") != nullptr) {
      const bool has_value = i + 1 < words.size() && !words[i + 1].starts_with('-');
      return text + fmt::format("; scenarios have it: --set {}={}", *path,
                                flag.size() < words[i].size() ? words[i].substr(flag.size() + 1)
                                : has_value                   ? words[i + 1]
                                                              : "VALUE");
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
  return fmt::format("{} {}: {}{}", chosen.name, word, allowed,
                     nearest.empty() ? "" : fmt::format(" (nearest: {})", nearest));
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
