#pragma once
// One run as the user describes it. Plain data; defaults stand here, and unit, range and meaning of
// each field in the option tables (options.hpp). An empty optional means "by the engine's own
// rule", which resolve.hpp fills in and names.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/engines/engine_section.hpp"
#include "sim/options/origins.hpp"
#include "sim/scenario/fleet_section.hpp"
#include "sim/scenario/workload_section.hpp"

namespace headroom {

// What one device draws; values given here replace those of the catalog.
struct PowerSection {
  std::optional<double> idle_w;
  std::optional<double> memory_bound_w;
  std::optional<double> compute_bound_w;
};

// A section that is written as a text is its name: "device": "h100-sxm".
struct DeviceSection {
  std::string name;
  std::optional<double> memory_total_gib;
  std::optional<double> memory_used_gib;
  std::int64_t per_node = 8;
  double nic_gb_per_s = 50;    // 400 Gb/s
  double nic_latency_us = 10;  // estimate
  PowerSection power = {};
};

// Values given here replace those of the named environment.
struct EnvironmentSection {
  std::string name = "native";
  bool first_start = false;
  std::optional<double> system_gib;
  std::optional<double> processes_gib;
  std::optional<double> tmpfs_gib;
  std::optional<double> shm_size_gib;
  std::optional<double> page_cache_gib;
  std::optional<double> checkpoint_cache_share;
  std::optional<double> engine_host_gib;
  std::optional<double> memory_limit_gib;
  std::optional<std::string> free_metric;
  double storage_gb_per_s = 2;
  // What llama.cpp attains of two channels of DDR5-5600 (89.6 GB/s) or less. Estimate.
  double host_read_gb_per_s = 50;
  double host_growth_mib_per_hour = 0;
  // From the moment a machine stops answering to its engine's start: it must be noticed and
  // rebooted. Estimate: 3 min of watchdog and boot.
  double reboot_s = 180;
};

// step = a + c * prompt tokens + b * decoding sequences + d * context they read: the form of the
// queueing laws, so that a run can be compared with a closed form.
struct AffineSection {
  double step_us = 10000;
  double prompt_token_us = 20;
  double decode_token_us = 250;
  double context_token_us = 0;
};

struct CostSection {
  std::string level = "auto";  // once resolved: another one
  std::string calibration = "auto";
  std::string tables;  // of level table
  double clock_share = 1;
  double expert_load_factor = 1;
  double bandwidth_share = 1;
  double cold_step_ms = 0;
  AffineSection affine;
};

struct RunSection {
  std::optional<double> until_s;
  std::optional<std::int64_t> max_events;
  std::int64_t no_progress_events = 1'000'000;
  std::optional<double> warmup_s;
  std::optional<double> steady_end_s;
  bool single_step = false;
};

struct OutputSection {
  double timeline_interval_s = 1;
  bool streaming = false;
};

struct Scenario : Origins {
  std::string name;
  std::string description;
  std::int64_t seed = 1;
  std::string model;           // catalog id, Hugging Face name, config.json or its folder
  std::string model_override;  // JSON file merged over the model's config.json
  DeviceSection device;
  EnvironmentSection environment;
  EngineSection engine;
  CostSection cost;
  FleetSection fleet;
  WorkloadSection workload;
  SloSection slo;
  RunSection run;
  OutputSection output;

  std::string directory;  // that relative file names are relative to; empty: the current one
};

}  // namespace headroom
