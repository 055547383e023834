#pragma once
// `headroom audit SCENARIO | LOG | --series CSV`.

#include <cstdint>
#include <optional>
#include <string>

#include "sim/scenario/scenario_file.hpp"

namespace headroom {

struct AuditArguments {
  // A scenario (file or built-in name), or the log of a start-up. Empty with `series`.
  std::string target;
  ScenarioFlags flags;                      // of a scenario
  std::optional<std::int64_t> context;      // tokens of a request; absent: the longest accepted
  std::optional<std::int64_t> concurrency;  // such requests together; absent: 1
  bool mitigate = false;                    // what gives KV back on shared memory
  // Of a log: stronger than what it says.
  std::string model;
  std::string device;
  std::string environment;
  // Of a recording.
  std::string series;  // CSV file
  std::string gpu;     // where it has several
  std::optional<double> capacity_gib;
  std::optional<double> max_concurrency;  // requests
  std::string catalog;                    // folder laid over the embedded one; empty: none
  bool json = false;
};

// What to print. ConfigError, DataError: a scenario, a log, a file or a flag is wrong.
[[nodiscard]] std::string audit_command(const AuditArguments& arguments);

}  // namespace headroom
