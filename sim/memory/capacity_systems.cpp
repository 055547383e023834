#include "sim/memory/capacity_systems.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "sim/engines/said_engine.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/nearest_name.hpp"
#include "sim/kernel/text_file.hpp"
#include "sim/memory/capacity_pool.hpp"
#include "sim/scenario/json_document.hpp"
#include "sim/scenario/options.hpp"
#include "sim/scenario/scenario_file.hpp"

namespace headroom {
namespace {

// The assignment that a flag means.
struct Choice {
  std::string assignment;
  std::string flag;  // as the user wrote it
};
using Choices = std::vector<Choice>;  // those of one system

void choose(Choices& choices, std::string_view path, const std::string& value,
            std::string_view flag) {
  // JSON knows UTF-8 alone; the name of a file in other bytes is taken as it stands.
  const bool is_json = utf8_end(value) == value.size();
  choices.push_back(
      {fmt::format("{}={}", path, is_json ? Json(value).dump() : value), std::string(flag)});
}

Choices engine_choices(const std::string& text) {
  const std::string flag = fmt::format("--engine {}", text);
  const SaidEngine engine = said_engine(text, flag);
  Choices choices;
  choose(choices, "engine.name", engine.name, flag);
  if (!engine.version.empty()) choose(choices, "engine.version", engine.version, flag);
  return choices;
}

// Every alternative of one list; without names the one that chooses nothing.
std::vector<Choices> alternatives(const std::vector<std::string>& texts, std::string_view path,
                                  std::string_view flag) {
  std::vector<Choices> all;
  for (const std::string& name : split_list(texts)) {
    if (path == "engine.name") {
      all.push_back(engine_choices(name));
    } else {
      choose(all.emplace_back(), path, name, fmt::format("{} {}", flag, name));
    }
  }
  if (all.empty()) all.emplace_back();
  return all;
}

// Errors and provenance name the flag that the user wrote, not the assignment made of it.
void name_flags(Scenario& scenario, const Choices& choices) {
  for (auto& [pointer, origin] : scenario.given) {
    for (const Choice& choice : choices) {
      if (origin == "--set " + choice.assignment) origin = choice.flag;
    }
  }
}

Scenario make_system(const SystemSelection& selection, const Choices& choices) {
  ScenarioFlags flags;
  for (const Choice& choice : choices) flags.set.push_back(choice.assignment);
  flags.set.insert(flags.set.end(), selection.set.begin(), selection.set.end());
  Scenario scenario;
  if (selection.scenario.empty()) {
    JsonDocument document = parse_json("{}", "command line");
    for (const std::string& assignment : flags.set) set_option(document, assignment);
    scenario = parse_scenario(document);
  } else {
    scenario = load_scenario(selection.scenario, flags);
  }
  name_flags(scenario, choices);
  return scenario;
}

std::int64_t parse_tokens(const std::string& text, std::string_view flag) {
  std::int64_t unit = 1;
  std::string_view digits = text;
  if (digits.ends_with('k') || digits.ends_with('K')) unit = 1024;
  if (digits.ends_with('m') || digits.ends_with('M')) unit = 1024 * 1024;
  if (unit > 1) digits.remove_suffix(1);
  std::int64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (error != std::errc() || stop != end || value < 1 || value > kMostContextTokens / unit) {
    throw ConfigError(fmt::format("{} {}: expected 1 to {} tokens, e.g. 8192 or 8k", flag, text,
                                  kMostContextTokens));
  }
  return value * unit;
}

}  // namespace

std::vector<std::string> split_list(const std::vector<std::string>& texts) {
  std::vector<std::string> parts;
  for (const std::string& text : texts) {
    std::size_t begin = 0;
    while (begin <= text.size()) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      if (end > begin) parts.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return parts;
}

std::vector<std::string> parts_or_none(const std::vector<std::string>& texts,
                                       std::string_view flag) {
  std::vector<std::string> parts = split_list(texts);
  if (parts.empty() && !texts.empty()) {
    throw ConfigError(Complaint{.kind = ErrorKind::missing,
                                .origin = std::string(flag),
                                .problem = "expected a name, or several between commas"});
  }
  if (parts.empty()) parts.emplace_back();
  return parts;
}

std::vector<std::int64_t> parse_contexts(const std::vector<std::string>& texts,
                                         std::string_view flag) {
  std::vector<std::int64_t> contexts;
  for (const std::string& text : split_list(texts)) contexts.push_back(parse_tokens(text, flag));
  return contexts;
}

std::vector<Scenario> select_systems(const SystemSelection& selection) {
  const std::vector<std::vector<Choices>> lists{
      alternatives(selection.models, "model", "--model"),
      alternatives(selection.devices, "device.name", "--device"),
      alternatives(selection.engines, "engine.name", "--engine"),
      alternatives(selection.environments, "environment.name", "--environment")};
  std::vector<Choices> systems{Choices{}};
  for (const std::vector<Choices>& list : lists) {
    std::vector<Choices> longer;
    for (const Choices& system : systems) {
      for (const Choices& choice : list) {
        Choices& made = longer.emplace_back(system);
        made.insert(made.end(), choice.begin(), choice.end());
      }
    }
    systems = std::move(longer);
  }
  std::vector<Scenario> scenarios;
  scenarios.reserve(systems.size());
  for (const Choices& system : systems) scenarios.push_back(make_system(selection, system));
  return scenarios;
}

}  // namespace headroom
