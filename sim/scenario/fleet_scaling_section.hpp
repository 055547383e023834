#pragma once
// The parts of section `fleet` that are about replicas that come, go and restart. As scenario.hpp:
// plain data, defaults here, unit and range in the option tables.

#include <cstdint>
#include <optional>
#include <string>

namespace headroom {

// Of one group. Defaults are those of the Kubernetes Horizontal Pod Autoscaler.
struct AutoscalingSection {
  std::string group;
  std::int64_t min_replicas = 1;
  std::int64_t max_replicas = 1;
  std::string metric = "queue";
  double target = 1;
  double percentile = 95;
  double interval_s = 15;
  double tolerance = 0.1;
  double scale_up_stabilization_s = 0;
  double scale_down_stabilization_s = 300;
  std::optional<std::int64_t> max_added;
  std::optional<std::int64_t> max_removed;
  double period_s = 60;
  double provisioning_s = 0;
  std::optional<double> start_s;
  std::int64_t nodes_ready = 0;
  bool pay_idle_nodes = false;
};

struct RestartSection {
  double at_s = 0;
  std::optional<double> down_s;
  std::int64_t at_once = 1;
};

struct ZoneLossSection {
  std::int64_t zone = 0;
  double at_s = 0;
  double for_s = 0;
};

}  // namespace headroom
