#pragma once
// The plan that flags describe: models, instances with their prices, traffic and targets.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hardware/catalog.hpp"
#include "sim/app/traffic_flags.hpp"
#include "sim/scenario/json_document.hpp"

namespace headroom {

// Lists are given as a,b,...
struct PlanFlags {
  std::vector<std::string> models;
  std::vector<std::string> devices;  // instances: 8xl40s is one with eight
  std::vector<std::string> prices;   // $ per hour of each instance, in the order of devices
  std::vector<std::string> engines;  // name or name@version; empty: the usual one of each device
  TrafficFlags traffic;              // at a rate, or a trace
  std::vector<std::string> targets;  // p99_ttft=1s,p99_tpot=50ms
  std::optional<std::int64_t> failures;
};

// Those that are given, as a user writes them: "--model". A trace is none: plan files take one,
// too.
[[nodiscard]] std::vector<std::string> given_flags(const PlanFlags& flags);

struct DescribedPlan {
  JsonDocument document;             // errors about its values name the flag
  std::vector<std::string> assumed;  // what the flags leave open, one sentence each
};

// ConfigError about a flag: it is missing, or its value cannot be. Names of models and devices are
// left to whoever reads the plan.
[[nodiscard]] DescribedPlan plan_of_flags(const PlanFlags& flags, const Catalog& catalog);

}  // namespace headroom
