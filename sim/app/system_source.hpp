#pragma once
// The system that a user asks about: a command, a compose file, a start-up log or a scenario; or a
// model, an engine and devices by flags.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/catalog.hpp"
#include "sim/engines/launch_draft.hpp"
#include "sim/scenario/scenario_file.hpp"

namespace headroom {

struct SystemFlags {
  // A command, in one word or in several behind --; a compose file, a log; a scenario.
  std::vector<std::string> source;
  std::string service;               // of a compose file
  std::vector<std::string> models;   // without a source: a,b,...
  std::vector<std::string> devices;  // a,b,...
  std::string engine;                // name or name@version, without a source
  std::optional<std::int64_t> device_count;
  std::vector<std::string> set;
};

// A system as it was described, before devices and traffic are set.
struct DescribedSystem {
  ScenarioDocument document;
  std::vector<std::string> assumed;
  std::string refusal = {};  // why the engine would not start, whatever its memory; empty: none
  std::string doubt = {};    // why it may not; empty: none
  double largest_share = 1;  // of its device's memory that others leave to it
  std::string beside = {};   // what of engines on the same device is not simulated; empty: none
};

// Why the engine may refuse the flags that were left out; empty: none of them is a flag.
[[nodiscard]] std::string doubt_of_flags(const FromResult& from);

// `asker`: the command, as errors call it. ConfigError: no system, two of them, or as
// scenario_from_source.
[[nodiscard]] DescribedSystem described_system(const SystemFlags& flags, const std::string& asker);

// A file, or the name of an embedded scenario.
[[nodiscard]] bool is_scenario(const std::string& word);

// "2x4090" is two of a device in one replica. Empty: nothing changes. What a command would have to
// say for that, where it names no parallel size; else empty.
std::string set_device(const std::string& text, JsonDocument& document);

// Before set_device(): where no engine is named and the usual one has no back end for the device,
// names the first that has, and says so. Empty: nothing changes, also for a device that the catalog
// does not know (what reads the scenario says so, with its place).
[[nodiscard]] std::string set_engine_of_device(const std::string& text, Json& root,
                                               const Catalog& catalog);

// "8k"; `otherwise` for nothing. ConfigError about `flag`.
[[nodiscard]] std::int64_t tokens_of(std::string_view flag, const std::string& text,
                                     std::int64_t otherwise);

}  // namespace headroom
