#pragma once
// What a user has of an engine that runs already: a command, a compose file or another deployment's
// files, a start-up log or dumps of /metrics; whichever it is, as a scenario.

#include <string>
#include <vector>

#include "sim/intake/from.hpp"

namespace headroom {

struct EngineSource {
  // One command, all of it one text; or a file; or the files of one deployment; or two dumps of
  // /metrics, the earlier one first.
  std::vector<std::string> words;
  std::string device;   // catalog name, for logs that do not say it; may be empty
  std::string service;  // of a compose file; empty: the only one that runs an engine
  std::string release;  // of the engine, as the user gives it apart; may be empty
};

// Whether a YAML text is a compose file: it has the key `services`.
[[nodiscard]] bool holds_services(const std::string& text);

// engine.version of --set, before anything is read: it decides what flags mean. Empty: not given.
[[nodiscard]] std::string release_given(const std::vector<std::string>& set);

// ConfigError, DataError: as scenario_from_command and its siblings; several files that are no
// dumps of /metrics.
[[nodiscard]] FromResult scenario_from_source(const EngineSource& source);

}  // namespace headroom
