#include "sim/scenario/scenario_file.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "sim/kernel/nearest_name.hpp"
#include "sim/kernel/text_file.hpp"
#include "sim/scenario/options.hpp"
#include "sim/scenario/short_paths.hpp"
#include "sim/scenario/yaml.hpp"

namespace headroom {
namespace {

std::string stem_of(std::string_view file) { return std::filesystem::path(file).stem().string(); }

JsonDocument read_document(const std::string& path) {
  if (!is_yaml(path)) return read_json_file(path);
  return {path, read_yaml(read_text_file(path), path, YamlScalars::typed), {}};
}

void set_flag(JsonDocument& document, const char* section, const char* key, Json value,
              const std::string& flag) {
  const std::string pointer = fmt::format("/{}/{}", section, key);
  Json& node = document.root[section];
  if (node.is_null()) node = Json::object();
  if (!node.is_object()) {
    throw value_error(document, fmt::format("/{}", section), node, "expected an object");
  }
  node[key] = std::move(value);
  document.overrides[pointer] = flag;
}

}  // namespace

bool is_yaml(std::string_view path) { return path.ends_with(".yaml") || path.ends_with(".yml"); }

// A folder does not hide the built-in scenario of its name.
ScenarioDocument read_scenario_document(const std::string& name, const std::string& folder) {
  if (name == kStandardInput) return {read_json_file(name), ""};
  std::error_code ignored;
  const auto is_file = [&](const std::string& path) {
    return std::filesystem::exists(path, ignored) && !std::filesystem::is_directory(path, ignored);
  };
  const std::string beside = (std::filesystem::path(folder) / name).string();
  for (const std::string& path : {beside, name}) {
    if (is_file(path)) {
      return {read_document(path), std::filesystem::path(path).parent_path().string()};
    }
  }
  std::vector<std::string> known;
  for (const EmbeddedFile& file : scenario_files()) {
    if (stem_of(file.name) == name) return {parse_json(file.content, name), ""};
    known.push_back(stem_of(file.name));
  }
  if (std::filesystem::is_directory(name, ignored)) return {read_json_file(name), ""};  // says so
  const std::string nearest = nearest_name(name, known);
  throw ConfigError(Complaint{.kind = ErrorKind::unreadable,
                              .origin = name,
                              .problem = "no such file, and no built-in scenario of this name",
                              .nearest = nearest,
                              .context = nearest.empty() ? "see `headroom list scenarios`" : ""});
}

// A trace brings its own arrivals, lengths and sessions, so those of the scenario go.
void set_trace(JsonDocument& document, const std::string& file) {
  Json& workload = document.root["workload"];
  if (workload.is_null()) workload = Json::object();
  if (!workload.is_object())
    throw value_error(document, "/workload", workload, "expected an object");
  for (const char* key : {"arrivals", "closed_loop", "servegen", "num_requests", "num_sessions",
                          "duration_s", "prompt", "output", "joint_lengths", "length_correlation",
                          "system_prompts", "documents", "sessions", "patience", "classes"}) {
    workload.erase(key);
  }
  if (!workload["trace"].is_object()) workload["trace"] = Json::object();
  workload["trace"]["file"] = file;
  document.overrides["/workload/trace/file"] = fmt::format("--trace {}", file);
}

Scenario load_scenario(const std::string& name, const ScenarioFlags& flags) {
  return load_scenario(read_scenario_document(name), name, flags);
}

Scenario load_scenario(ScenarioDocument given, const std::string& name,
                       const ScenarioFlags& flags) {
  JsonDocument& document = given.json;
  if (!document.root.is_object()) {
    throw value_error(document, "", document.root, "expected an object");
  }
  place_short_keys(document);
  if (flags.trace) set_trace(document, *flags.trace);
  if (flags.until_s) {
    set_flag(document, "run", "until_s", *flags.until_s, fmt::format("--until {}", *flags.until_s));
  }
  if (flags.single_step) set_flag(document, "run", "single_step", true, "--single-step");
  for (const std::string& assignment : flags.set) set_option(document, assignment);
  for (const std::string& assignment : flags.own) {
    set_option(document, assignment, fmt::format("{} {}", flags.own_flag, assignment));
  }

  Scenario scenario = parse_scenario(document);
  scenario.directory = given.directory;
  if (scenario.name.empty()) scenario.name = stem_of(name);
  return scenario;
}

}  // namespace headroom
