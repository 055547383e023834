#pragma once
// Section `fleet` of a scenario: several replicas behind one door. As scenario.hpp: plain data,
// defaults here, unit and range in the option tables.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/fleet_routes_section.hpp"
#include "sim/scenario/fleet_scaling_section.hpp"

namespace headroom {

struct Scenario;

struct RouterSection {
  std::string policy = "least_outstanding";
  double update_delay_ms = 0;
  std::int64_t ring_points = 100;
  // SGLang's router (sgl-model-gateway, policies/mod.rs)
  double cache_threshold = 0.5;
  std::int64_t balance_abs_threshold = 32;
  double balance_rel_threshold = 1.1;
  std::int64_t tree_tokens = 1'000'000;
  // NVIDIA Dynamo's KV router (kv_router/scheduler.rs) has 1 for both
  double prefix_weight = 1;
  double kv_weight = 1;
  double request_weight = 0;
  // llm-d's latency scorer (plugins/scheduling/scorer/latency) and its predecessor
  std::string headroom_selection_strategy = "least";
  double ttft_weight = 0.8;
  double tpot_weight = 0.2;
  double slo_buffer_factor = 1;
};

struct AdmissionSection {
  std::string policy = "unlimited";
  std::optional<std::int64_t> max_in_flight;
  std::optional<double> low_share;
  std::string unit = "requests";
  std::optional<double> rate;
  std::optional<double> burst;
  double window_s = 10;
};

struct CrashSection {
  std::int64_t replica = 0;
  double at_s = 0;
  std::optional<double> down_s;
};

struct SlowSection {
  std::int64_t replica = 0;
  double at_s = 0;
  double for_s = 0;
  double factor = 2;
};

struct FaultsSection {
  std::optional<double> mtbf_s;
  std::optional<double> down_s;
  bool resend = false;
  std::vector<CrashSection> crashes;
  std::vector<SlowSection> slow;
  std::vector<ZoneLossSection> zone_losses;
};

// Prefill and decode on different replicas.
struct DisaggregationSection {
  std::optional<double> link_gb_per_s;
  double link_latency_ms = 0;
  std::string first_token = "decode";
  std::string decode_router = "least_outstanding";
  std::optional<std::int64_t> max_local_prefill_tokens;
  std::optional<std::int64_t> max_prefill_queue;
};

// Replicas that are alike.
struct GroupSection {
  std::string name;
  std::int64_t count = 1;
  double weight = 1;
  std::string role = "both";
  std::optional<double> cost_per_hour;
  std::vector<std::int64_t> zones;
  std::shared_ptr<const Scenario> scenario = {};  // the base with what the group says instead
};

struct FleetSection {
  std::optional<std::int64_t> replicas;
  std::optional<double> cost_per_hour;
  std::vector<GroupSection> groups;
  std::optional<std::int64_t> zones;
  std::vector<RouteSection> routes;
  std::vector<AutoscalingSection> autoscaling;
  std::vector<RestartSection> restarts;
  RouterSection router;
  AdmissionSection admission;
  FaultsSection faults;
  DisaggregationSection disaggregation;
};

}  // namespace headroom
