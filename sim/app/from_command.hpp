#pragma once
// `headroom from`: a scenario from what a user runs.

#include <string>
#include <vector>

namespace headroom {

struct FromArguments {
  // A command, all of it one text, or a file: compose.yaml, a command in a script, the log of a
  // start-up, or one or two dumps of /metrics.
  std::vector<std::string> source;
  std::vector<std::string> unknown;  // flags that are none of ours
  std::string device;                // catalog name; a command does not name one
  std::string service;               // of a compose file
  std::vector<std::string> set;      // path=value, laid over the result
  bool json = false;                 // scenario, lists and notes as one JSON object
};

// The scenario as JSON text; what was not understood or has no effect stands in comments above it,
// which scenario files may have. ConfigError as sim/intake/from.hpp says.
[[nodiscard]] std::string from_command(const FromArguments& arguments);

}  // namespace headroom
