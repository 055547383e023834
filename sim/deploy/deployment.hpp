#pragma once
// What a scenario's fleet needs where it runs, in terms of no form: each form of emit.hpp writes it
// down in its own.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hardware/catalog.hpp"
#include "sim/engines/launch.hpp"
#include "sim/intake/serve_command.hpp"
#include "sim/resolve/resolve.hpp"

namespace headroom {

inline constexpr std::int64_t kEnginePort = 8000;
// Of the file with an engine's settings, where it has one.
inline constexpr const char* kSettingsName = "engine.yaml";

// Replicas that are alike.
struct DeployedGroup {
  std::string group;  // its name in the scenario; empty: the fleet has no groups
  std::string name;   // of its objects: a DNS label, different from those of other groups
  std::string role;   // prefill, decode; empty: both
  std::int64_t replicas = 1;
  std::optional<AutoscalingSection> scaling;
  const Engine* engine = nullptr;
  std::string model;                 // as the launcher finds it
  std::vector<std::string> program;  // "vllm", "serve"
  std::vector<std::string> flags;    // behind it, the model first; neither address nor settings
  std::vector<std::pair<std::string, std::string>> environment;
  Json settings;          // of the settings file; null: none
  std::string image;      // with its tag; empty: none is known
  std::int64_t gpus = 1;  // of a replica
  std::int64_t tensor_parallel_size = 1;
  std::string device;                         // catalog id
  std::string product;                        // of gpu_products.hpp; empty: not known
  std::optional<double> shared_memory_gib;    // that the scenario gives
  std::optional<double> memory_limit_gib;     // likewise
  std::optional<bool> enable_prefix_caching;  // once resolved
  double checkpoint_gib = 0;
  double start_s = 0;  // until it serves, as simulated

  [[nodiscard]] const EngineDeployment& facts() const { return engine->launch->deployment; }
};

struct Deployment {
  std::string name;               // a DNS label
  std::vector<std::string> head;  // lines about what was simulated
  std::vector<DeployedGroup> groups;
  std::string router;  // policy; empty: one replica
  std::int64_t devices_per_node = 8;
};

// ConfigError: an engine that no server command starts, or the scenario is wrong.
[[nodiscard]] Deployment deployment_of(const Scenario& scenario, const Catalog& catalog);

// "1.5Gi", whole where it is whole.
[[nodiscard]] std::string gibibytes(double gib);
// How fast a first start is taken to download the weights: a line of 1 Gbit/s, less its overhead.
inline constexpr double kDownloadGbPerS = 0.1;
// How often a probe may fail each `period_s` before a start, with a download of the weights, counts
// as failed.
[[nodiscard]] std::int64_t start_failures(const DeployedGroup& group, std::int64_t period_s);
// The flags with the address that the server listens at.
[[nodiscard]] std::vector<std::string> listening_flags(const DeployedGroup& group,
                                                       const std::string& host, std::int64_t port);

}  // namespace headroom
