#pragma once
// A scenario that is being put together from a command, and what is known of where it runs.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/engines/engine.hpp"
#include "sim/options/json.hpp"

namespace headroom {

struct FromResult {
  Json scenario;
  std::vector<std::string> unknown_flags;  // not understood: the scenario may lack something
  std::vector<std::string> ignored_flags;  // understood, no effect on memory or scheduling
  std::vector<std::string> notes;          // assumptions, and effects that are not modelled
  std::vector<std::string> refusals;       // why the engine would not start; also among the notes
  std::string doubt;                       // why it may not; empty: nothing speaks against it
  std::string engine;                      // one that has a launch
};

// Texts of settings files by the names that commands call them.
using SettingsFiles = std::map<std::string, std::string, std::less<>>;

struct LaunchDraft {
  explicit LaunchDraft(std::string name) : shown_as(std::move(name)) {}

  std::string shown_as;
  SettingsFiles files;  // read before those on disk
  const Engine* engine = nullptr;
  FromResult result;
  std::map<std::string, std::string> variables;  // environment of the engine's process
  std::optional<std::int64_t> devices;           // that the process may use
  std::string devices_by;                        // who says so
  std::set<std::string> refused;                 // options whose value is not modelled
  std::set<std::string> switches;                // of kSwitch that are on, by their first name
  std::optional<std::string> kv_connector;       // attached; empty: under a name not read

  void set(std::string_view pointer, Json value);
  void unset(std::string_view pointer);
  [[nodiscard]] const Json* find(std::string_view pointer) const;
  [[nodiscard]] std::string text(std::string_view pointer) const;  // empty where it is not set
  // The release that is named, or the one modelled by default.
  [[nodiscard]] EngineVersion release() const;
  // Each text once, in order.
  void note(std::string text);
  void refuses_to_start(std::string why);
  void unknown(std::string flag);
  void ignored(std::string flag);
};

// The method of drafts that an engine infers from the drafter's name (vllm/config/speculative.py);
// what has no meaning without a method, or beside it, is left out with a note.
void settle_drafter(LaunchDraft& draft);

}  // namespace headroom
