#pragma once
// A scenario from what a user runs already: a command, a compose file, or a dump of /metrics.
//
// The result is JSON with scenario pointers, not checked against the option table. A command names
// neither the device nor the traffic: "device" and "workload" are the caller's to add (a /metrics
// dump gives the traffic's lengths, and its rate where time is known). Nothing is silently dropped:
// every flag ends up in the scenario or in one of the lists.

#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/engines/launch_draft.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {

// A note of a result whose caller may add the model.
inline constexpr std::string_view kModelNotNamed = "the model is not named: add \"model\"";
// Behind a flag and the file that it names, among the flags that are left out.
inline constexpr std::string_view kFileNotFound = ": file not found, so its settings are missing";

// `command` as typed into a shell: assignments, quotes, line continuations, comments, `sh -c`, and
// `docker run` are understood. `shown_as` is what errors call it. Lists hold the names of flags and
// variables, never their values (keys and tokens stand there). Files that a flag names (--config)
// are taken from `files`, else read when they exist. `release` of the engine, as the user gives it
// apart from the command, decides what flags mean; empty: the image's, else the profile's.
// ConfigError: no command that is understood, a flag without its value, a wrong number, an open
// quote.
[[nodiscard]] FromResult scenario_from_command(std::string_view command,
                                               const std::string& shown_as,
                                               std::string_view release = {},
                                               SettingsFiles files = {});

// `service` may be empty when only one service runs a known engine. ConfigError with the line for
// what is no YAML (yaml.hpp).
[[nodiscard]] FromResult scenario_from_compose(std::istream& text, const std::string& name,
                                               const std::string& service,
                                               std::string_view release = {});

// A service of a compose file that starts an engine.
struct ComposeService {
  std::string name;     // of several replicas "chat-1", "chat-2"
  std::string service;  // in the file
  FromResult engine;
  std::vector<std::string> devices;  // ids of the GPUs that it sees; empty: all
};

struct ComposeServices {
  std::vector<ComposeService> services;  // in the order of their starts
  std::vector<std::string> notes;        // what of that order is assumed
  std::vector<std::string> left_out;     // notes on services that cannot be read
  bool is_fleet = false;                 // replicas that `headroom emit` wrote
};

// What is said of a service that cannot be read or resolved beside the one that is asked about.
[[nodiscard]] std::string left_out_note(const std::string& service, const ConfigError& error);

// Each service that starts an engine, after those that depends_on starts first, else in the order
// of the file. `wanted` names the one that is asked about: another one that cannot be read is left
// out. ConfigError as above; depends_on that goes in a circle.
[[nodiscard]] ComposeServices engines_of_compose(std::istream& text, const std::string& name,
                                                 std::string_view release = {},
                                                 std::string_view wanted = {});

// A file of a deployment, by the name that errors call it.
struct DeploymentText {
  std::string name;
  std::string text;
};

// Kubernetes objects, a DynamoGraphDeployment, or values of vLLM's production stack or llm-d's
// modelservice; the parts of all files are one fleet. ConfigError: no pod starts a known engine, or
// as above.
[[nodiscard]] bool holds_deployment(const std::string& text);
[[nodiscard]] FromResult scenario_from_deployment(const std::vector<DeploymentText>& files,
                                                  std::string_view release = {});

// Units of systemd, likewise.
[[nodiscard]] bool holds_unit(const std::string& text);
[[nodiscard]] FromResult scenario_from_units(const std::vector<DeploymentText>& files,
                                             std::string_view release = {});

// When a dump was taken, in seconds since 1970, if known: for a file, its time of modification.
struct MetricsTimes {
  std::optional<double> taken_unix_s;
  std::optional<double> earlier_unix_s;
};

// Prometheus text of vLLM. Rate: requests since the process started, by process_start_time_seconds
// and the time the dump was taken (its samples' own timestamps, else `times`). Without both the
// scenario has no request rate. DataError with the line for text that is no dump, ConfigError for a
// dump of another engine.
[[nodiscard]] FromResult scenario_from_metrics(std::istream& text, const std::string& name,
                                               const MetricsTimes& times = {},
                                               std::string_view release = {});
// Two dumps of the same process: traffic is what came in between.
[[nodiscard]] FromResult scenario_from_metrics(std::istream& earlier, std::istream& later,
                                               const std::string& name,
                                               const MetricsTimes& times = {},
                                               std::string_view release = {});

// Every scenario pointer that a command for `engine` may set, sorted: what the option table must
// know. The engine has a launch.
[[nodiscard]] std::vector<std::string> pointers_from_commands(const Engine& engine);

}  // namespace headroom
