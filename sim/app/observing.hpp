#pragma once
// What `observe` and `twin` have in common: a running server, the traffic it gets, and limits.

#include <cstdint>
#include <optional>
#include <string>

#include "sim/app/system_source.hpp"
#include "sim/observe/observation.hpp"
#include "sim/report/files/observation_files.hpp"
#include "sim/serving/workload_source.hpp"

namespace CLI {
class App;
}

namespace headroom {

struct ObserveFlags {
  std::string url;
  SystemFlags system;  // what serves; may be left out where only measuring matters
  std::optional<double> rate;
  std::optional<std::int64_t> users;
  std::string prompt;  // tokens
  std::string output;
  std::optional<std::string> trace;
  std::string columns;          // of the trace
  std::int64_t requests = 200;  // at most
  double seconds = 300;         // at most, until the last one is sent
  double timeout_s = 300;       // of one request
  std::int64_t warmup = 3;
  double metrics_every_s = 1;
  std::string served_model;
  std::string key_variable;  // of the environment
  bool remote = false;
  std::string catalog;
};

void add_observe_options(CLI::App& command, ObserveFlags& flags);

// A question to a server, before it is asked: the system and the traffic as one scenario.
struct ObservePlan {
  Scenario scenario;
  ObservedQuestion question;
  std::int32_t first_prompt = 1;  // tokens of its first request, as which the warm-up's are
  std::int32_t first_output = 1;
  std::vector<std::string> assumed;
};

// `asker`: the command, as errors call it. ConfigError: a flag, a file, the system or the traffic
// is wrong, or not what can be sent.
[[nodiscard]] ObservePlan observe_plan(const ObserveFlags& flags, const std::string& asker);

// Measures, with a line of progress on a terminal. Stops at signals, which are not to be handled
// otherwise.
[[nodiscard]] Observation observed(const ObserveFlags& flags, const ObservePlan& plan);
// The same with other traffic of `requests` requests.
[[nodiscard]] Observation observed(const ObserveFlags& flags, const ObservePlan& plan,
                                   WorkloadSource& traffic, std::int64_t requests);

}  // namespace headroom
