#include "sim/intake/flag_parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sim/intake/flag_values.hpp"
#include "sim/intake/from.hpp"
#include "sim/intake/values.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/nearest_name.hpp"
#include "sim/kernel/text_file.hpp"
#include "sim/scenario/options.hpp"
#include "sim/scenario/yaml.hpp"

namespace headroom {
namespace {

// All engines but text-generation-launcher take underscores for dashes; there it does no harm.
std::string normalised(std::string_view name) {
  std::string result(name);
  if (result.starts_with("--")) std::ranges::replace(result, '_', '-');
  return result;
}

struct Found {
  const FlagRow* row = nullptr;
  bool negated = false;        // --no-...
  bool part = false;           // --json-flag.key
  std::string_view tail = {};  // value inside the flag itself: -tp4
};

// Whether the engine takes a value that is not modelled.
bool lists_value(const FlagRow& row, std::string value) {
  std::ranges::transform(value, value.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  std::ranges::replace(value, '-', '_');
  const std::vector<std::string_view> others = split(row.others, '|');
  return std::ranges::find(others, value) != others.end();
}

// All values that the engine takes.
std::string values_of(const FlagRow& row) {
  std::vector<std::string> all = choices_of(*find_option(row.pointer));
  for (const std::string_view other : split(row.others, '|')) all.emplace_back(other);
  return comma_list(all);
}

class FlagReader {
 public:
  explicit FlagReader(Draft& draft) : draft_(draft), flags_(*draft.engine->launch) {
    for (const FlagRow& row : flags_.rows) {
      if (row.names.empty()) continue;
      for (const std::string_view name : split(row.names, '|')) rows_[normalised(name)] = &row;
    }
  }

  void variables();
  void words(std::span<const std::string> words);
  void arguments(const Json& printed, bool has_defaults);

 private:
  [[nodiscard]] Found find(const std::string& name) const;
  [[nodiscard]] Found abbreviation(const std::string& name) const;
  void flag(std::span<const std::string> words, std::size_t& at);
  void positional(const std::string& word);
  void settle(const std::string& name, const Found& found, std::span<const std::string> values);
  bool settle_parts(const std::string& name, const FlagRow& row,
                    std::span<const std::string> values);
  void remember_switch(const Found& found, std::span<const std::string> values);
  void kv_transfer(const std::string& name, const Found& found,
                   std::span<const std::string> values);
  void set_switch(const std::string& name, const Found& found, const std::string* value);
  void unknown(const std::string& name, bool has_value, std::span<const std::string> words,
               std::size_t& at);
  void note_nearest(const std::string& flag);
  void settings_file(const std::string& name, const std::string& path);
  void setting(const std::string& flag, const std::string& shown, const Json& value);
  [[noreturn]] void refuse(const std::string& flag, std::string_view problem,
                           ErrorKind kind = ErrorKind::value) const {
    throw ConfigError(Complaint{
        .kind = kind, .origin = draft_.shown_as, .pointer = flag, .problem = std::string(problem)});
  }

  Draft& draft_;
  const EngineLaunch& flags_;
  std::map<std::string, const FlagRow*> rows_;
  std::vector<std::pair<std::string, std::string>> late_files_;  // read after the flags
  // A word behind an unknown flag: its value, or the model.
  std::vector<std::string> swallowed_;
};

void FlagReader::variables() {
  std::map<std::string_view, const FlagRow*> known;
  for (const FlagRow& row : flags_.rows) {
    if (row.variable.empty()) continue;
    for (const std::string_view name : split(row.variable, '|')) known[name] = &row;
  }
  for (const auto& [name, value] : draft_.variables) {
    if (name == "CUDA_VISIBLE_DEVICES" || name == "NVIDIA_VISIBLE_DEVICES") {
      // The numbers of devices, not how many: a list of one number is one device.
      if (const auto devices = device_count("device=" + value); devices && value != "all") {
        draft_.devices = *devices;
        draft_.devices_by = name;
      }
      draft_.ignored(name);
      continue;
    }
    const auto row = known.find(name);
    if (row != known.end()) {
      const bool is_switch = row->second->takes == Takes::nothing;
      const Found found{.row = row->second, .negated = is_switch && switch_value(value) == false};
      if (found.negated && found.row->constant != "true") continue;
      const std::string values[] = {value};
      settle(name, found, is_switch ? std::span<const std::string>{} : values);
      continue;
    }
    const auto prefixes = split(flags_.variable_prefixes, '|');
    const bool own = std::ranges::any_of(prefixes, [&name = name](auto prefix) {
      return !prefix.empty() && name.starts_with(prefix);
    });
    const bool harmless = name.find("LOG") != std::string::npos ||
                          name.find("API_KEY") != std::string::npos ||
                          name.find("USAGE_STATS") != std::string::npos;
    own && !harmless ? draft_.unknown(name) : draft_.ignored(name);
  }
}

Found FlagReader::find(const std::string& name) const {
  const auto exact = rows_.find(name);
  if (exact != rows_.end()) return {.row = exact->second};
  if (name.starts_with("--no-")) {
    const auto positive = rows_.find("--" + name.substr(5));
    if (positive != rows_.end() && positive->second->takes == Takes::toggle) {
      return {.row = positive->second, .negated = true};
    }
  }
  if (const std::size_t dot = name.find('.'); dot != std::string::npos) {
    const auto whole = rows_.find(name.substr(0, dot));
    if (whole != rows_.end() && (whole->second->takes == Takes::json || name[1] != '-')) {
      return {.row = whole->second, .part = true};
    }
  }
  // -O3, -tp4
  const std::size_t digit = name.find_first_of("0123456789");
  if (name[1] != '-' && digit != std::string::npos && whole_number(name.substr(digit))) {
    const auto shorter = rows_.find(name.substr(0, digit));
    if (shorter != rows_.end() && shorter->second->takes != Takes::nothing) {
      return {.row = shorter->second, .tail = std::string_view(name).substr(digit)};
    }
  }
  return flags_.abbreviations && name.starts_with("--") ? abbreviation(name) : Found{};
}

Found FlagReader::abbreviation(const std::string& name) const {
  const FlagRow* only = nullptr;
  std::string_view full;
  for (auto it = rows_.lower_bound(name); it != rows_.end() && it->first.starts_with(name); ++it) {
    if (it->first.find('.') != std::string::npos) continue;
    const bool grouped = it->second->pointer.empty();  // rows of many unlike flags
    if (only != nullptr && (only != it->second || grouped)) return {};
    only = it->second;
    full = it->first;
  }
  if (only == nullptr) return {};
  draft_.note(fmt::format("{} is read as {}", name, full));
  return {.row = only};
}

void FlagReader::words(std::span<const std::string> words) {
  std::size_t at = 0;
  while (at < words.size()) {
    if (looks_like_flag(words[at])) {
      flag(words, at);
    } else {
      positional(words[at]);
      ++at;
    }
  }
  for (const auto& [name, path] : late_files_) settings_file(name, path);
  late_files_.clear();
  if (draft_.find("/model") == nullptr && flags_.positional_model && swallowed_.size() == 1) {
    draft_.set("/model", swallowed_.front());
    draft_.note(fmt::format("'{}' is read as the model, not as the value of the flag before it",
                            swallowed_.front()));
  }
}

// What a mistyped flag most likely means.
void FlagReader::note_nearest(const std::string& flag) {
  std::vector<std::string> names;
  for (const auto& [name, row] : rows_) names.push_back(name);
  const std::string nearest = nearest_name(normalised(flag), names);
  if (!nearest.empty()) {
    draft_.note(fmt::format("{} is unknown; the nearest known flag is {}", flag, nearest));
  }
}

void FlagReader::positional(const std::string& word) {
  if (flags_.positional_model && draft_.find("/model") == nullptr) {
    draft_.set("/model", word);
  } else {
    draft_.unknown(word);
  }
}

// One flag and its values; `at` moves behind them.
void FlagReader::flag(std::span<const std::string> words, std::size_t& at) {
  const std::string& word = words[at];
  ++at;
  if (word == "--") return;
  const std::size_t equals = word.find('=');
  const std::string name = normalised(word.substr(0, equals));
  const Found found = find(name);
  std::vector<std::string> values;
  if (equals != std::string::npos) values.push_back(word.substr(equals + 1));
  if (!found.tail.empty()) values.emplace_back(found.tail);
  if (found.row == nullptr) return unknown(word.substr(0, equals), !values.empty(), words, at);

  const Takes takes = found.part ? Takes::text : found.row->takes;
  const bool next_is_value = at < words.size() && !looks_like_flag(words[at]);
  if (takes == Takes::nothing || takes == Takes::toggle || !values.empty()) {
    settle(word.substr(0, equals), found, values);
    return;
  }
  if (takes == Takes::maybe_switch) {
    const bool given = next_is_value && (words[at] == "auto" || switch_value(words[at]));
    if (given) values.push_back(words[at++]);
  } else if (takes == Takes::maybe_text) {
    if (next_is_value) values.push_back(words[at++]);
  } else {
    if (!next_is_value) refuse(word, "its value is missing", ErrorKind::missing);
    values.push_back(words[at++]);
    while (takes == Takes::words && at < words.size() && !looks_like_flag(words[at])) {
      values.push_back(words[at++]);
    }
  }
  settle(word, found, values);
}

void FlagReader::unknown(const std::string& name, bool has_value,
                         std::span<const std::string> words, std::size_t& at) {
  draft_.unknown(name);
  note_nearest(name);
  if (has_value || at >= words.size() || looks_like_flag(words[at])) return;
  swallowed_.push_back(words[at]);
  ++at;
}

// What a flag with `values` does to the scenario.
void FlagReader::settle(const std::string& name, const Found& found,
                        std::span<const std::string> values) {
  const FlagRow& row = *found.row;
  if (row.takes == Takes::json && !found.part && settle_parts(name, row, values)) return;
  const bool is_switch = row.takes == Takes::nothing || row.takes == Takes::toggle;
  if (row.pointer.empty()) {
    const bool off =
        found.negated || (is_switch && !values.empty() && switch_value(values.front()) == false);
    const bool silent = off || row.note.empty();
    silent ? draft_.ignored(name) : draft_.note(fmt::format("{}: {}", name, row.note));
    return;
  }
  if (row.pointer == kSwitch) return remember_switch(found, values);
  if (row.pointer == kKvTransfer) return kv_transfer(name, found, values);
  if (row.pointer == kSettingsFile) {
    if (flags_.settings_win) {
      late_files_.emplace_back(name, values.front());
    } else {
      settings_file(name, values.front());
    }
    return;
  }
  if (is_switch || (row.takes == Takes::maybe_switch && values.empty())) {
    set_switch(name, found, values.empty() ? nullptr : &values.front());
    return;
  }
  FlagValue value = flag_value(row, values.front());
  value.json = in_known_case(row.pointer, std::move(value.json));
  if (!value.problem.empty() && values.front().starts_with('$')) {
    refuse(name, fmt::format("{} has no value here: set it in front of the command (NAME=value)",
                             values.front()));
  }
  if (!value.problem.empty() && !row.note.empty()) {
    draft_.note(fmt::format("{} {}: {}", name, values.front(), row.note));
    return;
  }
  if (!value.problem.empty()) {
    refuse(name, fmt::format("value '{}': {}", values.front(), value.problem));
  }
  if (value.json.is_null()) {
    draft_.unset(row.pointer);
    draft_.note(fmt::format("{} {}: the engine chooses", name, values.front()));
  } else if (!row.note.empty() && !is_choice(row.pointer, value.json)) {
    if (!row.others.empty() && !lists_value(row, values.front())) {
      refuse(name, fmt::format("value '{}': one of {}", values.front(), values_of(row)));
    }
    draft_.unset(row.pointer);
    draft_.refused.emplace(row.pointer);
    const std::string slip = nearest_choice(row.pointer, value.json);
    draft_.note(fmt::format("{}: {}{}", name, row.note, slip));
    if (!slip.empty()) {
      draft_.result.doubt =
          fmt::format("may not start: no {} {} is known here, and {} refuses others", name,
                      values.front(), draft_.engine->launch->title);
    }
  } else {
    draft_.set(row.pointer, value.json);
  }
}

// An object whose keys have rows of their own, as those keys; false: it is one value.
bool FlagReader::settle_parts(const std::string& name, const FlagRow& row,
                              std::span<const std::string> values) {
  const std::string flag(split(row.names, '|').front());
  const std::string prefix = normalised(flag) + ".";
  const auto first = rows_.lower_bound(prefix);
  if (values.size() != 1 || first == rows_.end() || !first->first.starts_with(prefix)) return false;
  const Json object = Json::parse(values.front(), nullptr, false);
  if (!object.is_object()) {
    draft_.unknown(fmt::format("{} (no JSON object)", name));
    return true;
  }
  for (const auto& [key, value] : object.items()) {
    setting(fmt::format("{}.{}", flag, key), fmt::format("{}.{}", name, key), value);
  }
  return true;
}

void FlagReader::remember_switch(const Found& found, std::span<const std::string> values) {
  const bool off = found.negated || (!values.empty() && switch_value(values.front()) == false);
  const std::string name(split(found.row->names, '|').front());
  if (off) {
    draft_.switches.erase(name);
  } else {
    draft_.switches.insert(name);
  }
}

// '{"kv_connector": "NixlConnector", ...}', or --kv-transfer-config.kv_connector NixlConnector.
void FlagReader::kv_transfer(const std::string& name, const Found& found,
                             std::span<const std::string> values) {
  draft_.note(fmt::format("{}: {}", name.substr(0, name.find('.')), found.row->note));
  if (!draft_.kv_connector) draft_.kv_connector = "";
  if (values.empty()) return;
  if (found.part) {
    const bool own = name.ends_with(".kv_connector") || name.ends_with(".kv-connector");
    if (own) draft_.kv_connector = values.front();
    return;
  }
  const Json object = Json::parse(values.front(), nullptr, false);
  if (!object.is_object() || !object.contains("kv_connector")) return;
  if (const Json& connector = object.at("kv_connector"); connector.is_string()) {
    draft_.kv_connector = connector.get<std::string>();
  }
}

void FlagReader::set_switch(const std::string& name, const Found& found, const std::string* value) {
  Json set_to = found.row->constant.empty() ? Json(true) : Json::parse(found.row->constant);
  bool negated = found.negated;
  if (value != nullptr) {
    const std::optional<bool> given = switch_value(*value);
    if (!given) refuse(name, fmt::format("value '{}': true or false", *value));
    negated = negated != !*given;
  }
  if (negated && set_to.is_boolean()) set_to = !set_to.get<bool>();
  draft_.set(found.row->pointer, std::move(set_to));
}

void FlagReader::settings_file(const std::string& name, const std::string& path) {
  const auto given = draft_.files.find(path);
  std::error_code elsewhere;  // the path is of the machine that the command runs on
  if (given == draft_.files.end() && !std::filesystem::exists(path, elsewhere)) {
    draft_.unknown(fmt::format("{} {}{}", name, path, kFileNotFound));
    return;
  }
  const Json settings =
      read_yaml(given == draft_.files.end() ? read_text_file(path) : given->second, path);
  if (!settings.is_object()) refuse(name, fmt::format("{} is not a list of settings", path));
  // A setting stands below every flag of the command line, wherever the file is named.
  const bool before_flags = !flags_.settings_win;
  const Json on_command_line = before_flags ? draft_.result.scenario : Json();
  for (const auto& [key, value] : settings.items()) setting("--" + key, key, value);
  if (before_flags && on_command_line.is_object()) {
    draft_.result.scenario.merge_patch(on_command_line);
  }
}

// "key: value" of a settings file or a JSON value as the flag of this name; objects as --key.inner.
void FlagReader::setting(const std::string& flag, const std::string& shown, const Json& value) {
  const std::string name = normalised(flag);
  if (value.is_object()) {
    for (const auto& [inner, set_to] : value.items()) {
      setting(fmt::format("{}.{}", flag, inner), fmt::format("{}.{}", shown, inner), set_to);
    }
    return;
  }
  const Found found = find(name);
  if (found.row == nullptr) return draft_.unknown(shown);
  std::vector<std::string> values;
  if (value.is_array()) {
    for (const Json& item : value)
      values.push_back(item.is_string() ? item.get<std::string>() : item.dump());
  } else if (value.is_string()) {
    values.push_back(value);
  } else if (!value.is_null()) {
    values.push_back(value.dump());  // of a JSON object; YAML's scalars are texts
  }
  const bool is_switch = found.row->takes == Takes::nothing || found.row->takes == Takes::toggle;
  if (values.empty() && !is_switch && !found.row->pointer.empty()) {
    draft_.note(fmt::format("{}: empty, so the engine chooses", shown));
    return;
  }
  settle(shown, found, values);
}

// Whether a printed argument is what a flag that was not given leaves.
bool says_nothing(const Json& value, const FlagRow* row) {
  if (value.is_null()) return true;
  const bool is_flag = row == nullptr || row->pointer.empty() || row->takes == Takes::nothing;
  if (value.is_boolean()) return !value.get<bool>() && is_flag;
  return (value.is_string() && value.get<std::string>().empty()) ||
         ((value.is_array() || value.is_object()) && value.empty());
}

void FlagReader::arguments(const Json& printed, bool has_defaults) {
  for (const auto& [key, value] : printed.items()) {
    const std::string flag = "--" + key;
    const Found found = find(normalised(flag));
    if (says_nothing(value, found.row)) continue;
    const bool is_told = !has_defaults || (found.row != nullptr && !found.row->pointer.empty());
    if (is_told) setting(flag, key, value);
  }
}

}  // namespace

void read_flags(Draft& draft, std::span<const std::string> words) {
  FlagReader reader(draft);
  reader.variables();
  reader.words(words);
}

void read_arguments(Draft& draft, const Json& printed, bool has_defaults) {
  FlagReader(draft).arguments(printed, has_defaults);
}

bool looks_like_flag(std::string_view word) {
  if (word.size() < 2 || word.front() != '-') return false;
  return !decimal_number(word);
}

}  // namespace headroom
