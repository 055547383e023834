#include "sim/intake/serve_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "hardware/checkpoint_names.hpp"
#include "sim/engines/engines.hpp"
#include "sim/engines/launch.hpp"
#include "sim/intake/flag_values.hpp"
#include "sim/intake/shell_words.hpp"
#include "sim/intake/values.hpp"
#include "sim/scenario/options.hpp"

namespace headroom {
namespace {

// The word that the row reads as `value`; nothing: it has none.
std::optional<std::string> word_of(const FlagRow& row, const Json& value) {
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  const auto means = [&](const std::string& word) {
    const FlagValue read = flag_value(row, word);
    return read.problem.empty() && read.json == value;
  };
  if (row.takes == Takes::above_one && value.is_number_integer()) return text;
  if (means(text)) return text;
  for (const std::string_view pair : split(row.values, '|')) {
    const std::string word(pair.substr(0, pair.rfind('=')));
    if (!word.empty() && means(word)) return word;
  }
  return std::nullopt;
}

bool is_switch(const FlagRow& row) {
  return row.takes == Takes::nothing || row.takes == Takes::toggle;
}

class CommandWriter {
 public:
  CommandWriter(const EngineLaunch& launch, ServeCommand& command)
      : launch_(launch), command_(command) {}

  // False: no word says it.
  bool say(const std::string& pointer, const Json& value) {
    for (const FlagRow& row : launch_.rows) {
      if (row.pointer != pointer) continue;
      if (say_by_flag(row, value) || say_by_variable(row, value)) return true;
      if (say_by_setting(row, value)) return false;
    }
    return false;
  }

 private:
  // The spelling of the command; empty: it has none.
  [[nodiscard]] std::string_view flag_of(const FlagRow& row) const {
    const std::vector<std::string_view> names = split(row.names, '|');
    const auto& own = launch_.deployment.command_flags;
    if (own.empty()) return names.front();
    const auto found = std::ranges::find_if(
        names, [&](std::string_view name) { return std::ranges::count(own, name) > 0; });
    return found == names.end() ? std::string_view{} : *found;
  }

  bool say_by_setting(const FlagRow& row, const Json& value) {
    if (row.names.empty() || !flag_of(row).empty()) return false;
    const std::vector<std::string_view> names = split(row.names, '|');
    const auto inner = std::ranges::find_if(
        names, [](std::string_view name) { return name.find('.') != std::string_view::npos; });
    const std::string_view name = inner == names.end() ? names.front() : *inner;
    Json set_to = value;
    if (value.is_string()) {
      const std::optional<std::string> word = word_of(row, value);
      if (!word) return false;
      set_to = *word;
    }
    std::string place(name.substr(1));  // "--a.b" -> "/a/b"
    place.front() = '/';
    std::ranges::replace(place, '.', '/');
    command_.settings[Json::json_pointer(place)] = std::move(set_to);
    return true;
  }

  bool say_by_flag(const FlagRow& row, const Json& value) {
    const std::string name(flag_of(row));
    if (name.empty()) return false;
    std::vector<std::string>& words = command_.words;
    if (!row.constant.empty() && Json::parse(row.constant) == value) {
      words.push_back(name);
      return true;
    }
    if (is_switch(row)) {
      if (!row.constant.empty() || !value.is_boolean()) return false;
      if (!value.get<bool>() && row.takes == Takes::nothing) return false;
      words.push_back(value.get<bool>() ? name : fmt::format("--no-{}", name.substr(2)));
      return true;
    }
    const std::optional<std::string> word = word_of(row, value);
    if (!word) return false;
    words.push_back(name);
    words.push_back(*word);
    return true;
  }

  bool say_by_variable(const FlagRow& row, const Json& value) {
    if (row.variable.empty()) return false;
    const std::string name(split(row.variable, '|').front());
    std::optional<std::string> word;
    if (is_switch(row)) {
      const Json on = row.constant.empty() ? Json(true) : Json::parse(row.constant);
      if (value == on) word = "1";
      if (value.is_boolean() && on.is_boolean() && value != on) word = "0";
    } else {
      word = word_of(row, value);
    }
    if (!word) return false;
    command_.environment.emplace_back(name, *word);
    return true;
  }

  const EngineLaunch& launch_;
  ServeCommand& command_;
};

// "/max_num_seqs" and "/speculative_config/method" with their values.
void add_values(const Json& section, const std::string& place,
                std::vector<std::pair<std::string, Json>>& values) {
  for (const auto& [key, value] : section.items()) {
    const std::string here = fmt::format("{}/{}", place, key);
    if (value.is_object()) {
      add_values(value, here, values);
    } else {
      values.emplace_back(here, value);
    }
  }
}

std::string dotted_path(std::string_view pointer) {
  std::string path(pointer.substr(1));
  std::ranges::replace(path, '/', '.');
  return path;
}

}  // namespace

std::string launched_model(const std::string& given, const Catalog& catalog) {
  if (given.find('/') != std::string::npos) return given;
  // A tag of Ollama's library ("llama3.1:8b") means nothing to another engine.
  const bool is_tag = given.find(':') != std::string::npos;
  if (!is_tag && !catalog.has_model(given)) {
    const std::string repository = catalog.repository_called(given);
    return repository.empty() ? given : repository;
  }
  const std::optional<NamedCheckpoint> named = find_checkpoint(catalog, given);
  const std::string repository = named ? catalog.model(named->model).hf_repo : "";
  return repository.empty() ? given : repository;
}

ServeCommand serve_command(const Json& engine, const std::string& model) {
  ServeCommand command;
  const Engine* profile = find_engine(engine.value("name", std::string()));
  const EngineLaunch* launch = profile == nullptr ? nullptr : profile->launch;
  if (launch == nullptr || launch->command.empty()) return command;
  for (const std::string_view word : split(launch->command, ' ')) {
    command.words.push_back(word == "{}" ? model : std::string(word));
  }
  Json laid_out = engine;
  std::vector<std::string> switches;
  if (launch->lay_out != nullptr) switches = launch->lay_out(laid_out);
  CommandWriter writer(*launch, command);
  std::vector<std::pair<std::string, Json>> values;
  add_values(laid_out, "", values);
  for (const auto& [place, value] : values) {
    if (place == "/name" || place == "/version") continue;
    if (!writer.say("/engine" + place, value)) command.not_a_flag.push_back(dotted_path(place));
  }
  command.words.insert(command.words.end(), switches.begin(), switches.end());
  for (const auto& [name, value] : command.environment) {
    command.text += fmt::format("{}={} ", name, shell_word(value));
  }
  command.text += shell_line(command.words);
  return command;
}

Json engine_section(const Scenario& scenario) {
  Json section = {{"name", scenario.engine.name}};
  for (const OptionRow& row : engine_options()) {
    constexpr std::string_view kEngine = "/engine";
    const std::string pointer(row.pointer);
    if (!scenario.is_given(pointer) || pointer == "/engine/name") continue;
    Json value = value_of(row, scenario);
    if (value.is_null()) continue;
    section[Json::json_pointer(pointer.substr(kEngine.size()))] = std::move(value);
  }
  return section;
}

}  // namespace headroom
