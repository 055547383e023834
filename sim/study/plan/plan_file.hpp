#pragma once
// A plan as its file describes it: traffic, targets, and what a fleet may be made of. Reading is
// strict: every mistake is a ConfigError `file: /json/pointer: value X: what is allowed`.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/kernel/embedded_file.hpp"
#include "sim/scenario/json_document.hpp"

namespace headroom {

// A percentile or mean of a latency that must not be exceeded: "p99_ttft_ms" and its limit.
struct PlanTarget {
  std::string metric;
  double limit_ms = 0;
};

struct PlanModel {
  std::string model;              // catalog id, Hugging Face name or config.json
  std::optional<double> quality;  // the user's own score, in whatever unit
  // Tokens of this model per token of the traffic's tokenizer.
  double input_tokens_factor = 1;
  double output_tokens_factor = 1;
  double thinking_tokens_factor = 1;
};

// A machine that is paid for as a whole.
struct PlanInstance {
  std::string name;
  std::string device;
  std::int64_t gpus = 1;
  double price_per_hour = 0;                  // $
  std::string price_source;                   // where the price is from; empty: not said
  std::optional<std::int64_t> nvlink_domain;  // devices that the device's own links join; else gpus
  std::optional<double> nic_gb_per_s;         // per device and direction
};

struct FleetPlanFile {
  std::string name;
  std::string description;
  std::string file;       // as errors call it
  Json workload;          // of the base traffic
  double scale = 1;       // of its rate
  std::string directory;  // that file names in it are relative to
  // JSON pointer in a candidate's scenario, else in the plan -> the flag that set it.
  std::map<std::string, std::string> origins;
  std::vector<PlanTarget> targets;
  std::vector<PlanModel> models;
  std::optional<double> min_quality;
  std::vector<PlanInstance> instances;
  std::vector<Json> engines;       // sections of a scenario
  std::vector<Json> environments;  // likewise
  std::vector<std::int64_t> tensor_parallel_sizes;
  std::vector<double> growth;  // factors of the traffic, each > 1
  std::int64_t failures = 0;   // replicas that may be gone
  bool rolling_restart = false;
  std::int64_t replications = 3;
  std::int64_t max_replicas = 256;
  std::optional<double> max_cost_per_hour;
  std::string router = "least_outstanding";
  std::int64_t seed = 1;
};

inline constexpr std::int64_t kMostPlanReplicas = 4096;
inline constexpr std::int64_t kMostPlanReplications = 100;
// A fleet whose intervals reach over a limit is run up to so many times its replications.
inline constexpr std::int64_t kMostPlanRounds = 8;

// scenarios/plans/*.json of the source tree, compiled in.
[[nodiscard]] std::span<const EmbeddedFile> plan_files();

// `name` is a path, or the name of an embedded plan when no such file exists. `trace`: a file that
// takes the place of the traffic's own trace, relative to the current folder; empty: none. `set`:
// path=value, applied to the plan in order.
[[nodiscard]] FleetPlanFile load_fleet_plan(const std::string& name, const std::string& trace,
                                            const std::vector<std::string>& set);
// A plan that is no file: `document` after `set`, which is applied to it. Names of files are
// relative to the current folder.
[[nodiscard]] FleetPlanFile set_fleet_plan(JsonDocument& document,
                                           const std::vector<std::string>& set);
// `directory`: that of the file; a base scenario is searched there first.
[[nodiscard]] FleetPlanFile parse_fleet_plan(const JsonDocument& document,
                                             const std::string& directory,
                                             const std::string& trace);

// Of all targets of a latency, "_ttft_" or "_tpot_": the lowest limit.
[[nodiscard]] std::optional<double> tightest_limit(const FleetPlanFile& plan,
                                                   std::string_view latency);

// JSON Schema (draft 2020-12) of plan files.
[[nodiscard]] Json plan_schema();

}  // namespace headroom
