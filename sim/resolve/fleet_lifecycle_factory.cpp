#include "sim/resolve/fleet_lifecycle_factory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "scheduler/fleet/autoscaler.hpp"
#include "sim/kernel/check.hpp"
#include "sim/kernel/seconds.hpp"

namespace headroom {
namespace {

constexpr std::array<std::pair<std::string_view, ScalingMetric>, 6> kMetrics{{
    {"utilization", ScalingMetric::utilization},
    {"queue", ScalingMetric::queue},
    {"kv", ScalingMetric::kv},
    {"in_flight", ScalingMetric::in_flight},
    {"ttft", ScalingMetric::ttft},
    {"tpot", ScalingMetric::tpot},
}};

ScalingMetric metric_of(std::string_view name) {
  const auto* found = std::ranges::find(kMetrics, name, &decltype(kMetrics)::value_type::first);
  HEADROOM_CHECK(found != kMetrics.end(), "a scaling metric without a row");
  return found->second;
}

TimeNs at_least_one_ns(double seconds) { return std::max<TimeNs>(1, ns_from_seconds(seconds)); }

std::unique_ptr<ScalingPolicy> make_autoscaler(const AutoscalingSection& section,
                                               std::int64_t initial) {
  AutoscalerOptions options;
  options.min_replicas = section.min_replicas;
  options.max_replicas = section.max_replicas;
  options.initial = initial;
  options.target = section.target;
  options.tolerance = section.tolerance;
  options.up_window_ns = ns_from_seconds(section.scale_up_stabilization_s);
  options.down_window_ns = ns_from_seconds(section.scale_down_stabilization_s);
  options.up_most = section.max_added.value_or(0);
  options.down_most = section.max_removed.value_or(0);
  options.period_ns = at_least_one_ns(section.period_s);
  return std::make_unique<HorizontalAutoscaler>(options);
}

}  // namespace

const AutoscalingSection* autoscaling_of(const FleetSection& fleet, std::string_view group) {
  for (const AutoscalingSection& one : fleet.autoscaling) {
    if (one.group.empty() || one.group == group) return &one;
  }
  return nullptr;
}

GroupSize size_of_group(const Scenario& scenario, std::size_t index) {
  const FleetSection& fleet = scenario.fleet;
  const bool listed = !fleet.groups.empty();
  const std::string given =
      listed ? fmt::format("/fleet/groups/{}/count", index) : std::string("/fleet/replicas");
  const std::int64_t count = listed ? fleet.groups[index].count : fleet.replicas.value_or(1);
  const AutoscalingSection* scaling =
      autoscaling_of(fleet, listed ? std::string_view(fleet.groups[index].name) : "");
  if (scaling == nullptr) return {count, count};
  return {scenario.is_given(given) ? count : scaling->min_replicas, scaling->max_replicas};
}

TimeNs start_ns_of(const FleetSection& fleet, const FleetGroup& group) {
  const AutoscalingSection* scaling = autoscaling_of(fleet, group.name);
  const double own = group.resolved.scenario.engine.restart_s.value();
  return at_least_one_ns(scaling == nullptr ? own : scaling->start_s.value_or(own));
}

std::vector<std::int64_t> zones_of_replicas(const Scenario& scenario) {
  const FleetSection& fleet = scenario.fleet;
  std::vector<std::int64_t> zones;
  for (std::size_t g = 0; g < std::max<std::size_t>(1, fleet.groups.size()); ++g) {
    const std::int64_t places = size_of_group(scenario, g).places;
    for (std::int64_t i = 0; i < places; ++i) {
      if (fleet.groups.empty() || fleet.groups[g].zones.empty()) {
        zones.push_back(i % fleet.zones.value_or(1));
      } else {
        const std::vector<std::int64_t>& own = fleet.groups[g].zones;
        zones.push_back(own[static_cast<std::size_t>(i) % own.size()]);
      }
    }
  }
  return zones;
}

std::unique_ptr<FleetLifecycle> make_lifecycle(const Scenario& scenario,
                                               const std::vector<FleetGroup>& groups) {
  const FleetSection& fleet = scenario.fleet;
  if (fleet.autoscaling.empty() && fleet.restarts.empty()) return nullptr;
  std::vector<LifecycleGroup> all;
  std::uint32_t first = 0;
  for (const FleetGroup& group : groups) {
    LifecycleGroup one;
    one.first = first;
    one.places = static_cast<std::uint32_t>(group.places);
    one.initial = static_cast<std::uint32_t>(group.count);
    one.start_ns = start_ns_of(fleet, group);
    if (const AutoscalingSection* scaling = autoscaling_of(fleet, group.name)) {
      one.provisioning_ns = ns_from_seconds(scaling->provisioning_s);
      one.nodes_ready = scaling->nodes_ready;
      one.policy = make_autoscaler(*scaling, group.count);
      one.metric = metric_of(scaling->metric);
      one.percentile = scaling->percentile;
      // Of metric ttft the target is that of a latency.
      if (scaling->metric == "ttft") one.overdue_ns = ns_from_seconds(scaling->target / 1e3);
      one.interval_ns = at_least_one_ns(scaling->interval_s);
    }
    first += one.places;
    all.push_back(std::move(one));
  }
  std::vector<RollingRestart> restarts;
  for (const RestartSection& section : fleet.restarts) {
    RollingRestart one;
    one.at_ns = ns_from_seconds(section.at_s);
    one.at_once = section.at_once;
    if (section.down_s) one.down_ns = at_least_one_ns(*section.down_s);
    restarts.push_back(one);
  }
  return std::make_unique<FleetLifecycle>(std::move(all), restarts);
}

}  // namespace headroom
