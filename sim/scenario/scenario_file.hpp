#pragma once
// From what stands on the command line to a Scenario: a file, or the name of an embedded one, and
// flags.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/kernel/embedded_file.hpp"
#include "sim/scenario/json_document.hpp"
#include "sim/scenario/scenario.hpp"

namespace headroom {

// scenarios/*.json of the source tree, compiled in.
[[nodiscard]] std::span<const EmbeddedFile> scenario_files();

struct ScenarioFlags {
  std::vector<std::string> set;    // path=value, in order
  std::vector<std::string> own{};  // more of them, given by own_flag ("--set-b")
  std::string own_flag{};
  std::optional<std::string>
      trace;  // replaces the scenario's workload; relative to the current folder
  std::optional<double> until_s;
  bool single_step = false;
};

// Standard input as a file; what a scenario from it names is relative to the current folder.
inline constexpr const char* kStandardInput = "/dev/stdin";

// The text of a scenario, before it is parsed.
struct ScenarioDocument {
  JsonDocument json;
  std::string directory;  // of its file, which file names in it are relative to; empty: here
};
// A file is YAML if its name ends in .yaml or .yml, else JSON with comments. `name` as in
// load_scenario; a file is searched first in `folder`, if given.
[[nodiscard]] ScenarioDocument read_scenario_document(const std::string& name,
                                                      const std::string& folder = {});

// Whether a file's name says that it is YAML.
[[nodiscard]] bool is_yaml(std::string_view path);

// `file` replaces the workload, as --trace does: relative to the current folder.
void set_trace(JsonDocument& document, const std::string& file);

// `name` is a path, or the name of an embedded scenario ("demo") when no such file exists.
// ConfigError when it is neither, or its content is wrong.
[[nodiscard]] Scenario load_scenario(const std::string& name, const ScenarioFlags& flags);
[[nodiscard]] Scenario load_scenario(ScenarioDocument given, const std::string& name,
                                     const ScenarioFlags& flags);

}  // namespace headroom
