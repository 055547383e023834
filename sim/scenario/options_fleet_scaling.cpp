// Option rows of the lists of section `fleet` that are about replicas that come, go and restart.

#include "sim/scenario/options.hpp"

namespace headroom {
namespace {

using Scaling = AutoscalingSection;

template <auto Member>
constexpr auto of_scaling = +[](Scenario& s) -> auto& {
  return s.fleet.autoscaling.front().*Member;
};
template <auto Member>
constexpr auto of_restart = +[](Scenario& s) -> auto& {
  return s.fleet.restarts.front().*Member;
};
template <auto Member>
constexpr auto of_zone_loss = +[](Scenario& s) -> auto& {
  return s.fleet.faults.zone_losses.front().*Member;
};

constexpr Bounds kPlaces{.low = 1, .high = 65535};
constexpr Bounds kDuration{.low = 0, .high = 9e9, .low_open = true};
constexpr Bounds kDelay{.low = 0, .high = 9e9};

const OptionRow kRowsOfScaling[] = {
    {.pointer = "/fleet/autoscaling/group",
     .reach = of_scaling<&Scaling::group>,
     .doc = "name of the group; optional if there is only one"},
    {.pointer = "/fleet/autoscaling/min_replicas",
     .reach = of_scaling<&Scaling::min_replicas>,
     .bounds = kPlaces,
     .doc = "fewest replicas; the run begins with the group's count, or else with this many"},
    {.pointer = "/fleet/autoscaling/max_replicas",
     .reach = of_scaling<&Scaling::max_replicas>,
     .bounds = kPlaces,
     .doc = "most replicas at once, including those still draining"},
    {.pointer = "/fleet/autoscaling/metric",
     .reach = of_scaling<&Scaling::metric>,
     .choices = "utilization|queue|kv|in_flight|ttft|tpot",
     .doc = "what to scale by, since the last decision; a mean over the ready replicas: share of "
            "time busy, waiting requests, share of the KV pool in use, or requests in total; or a "
            "percentile in ms over its first tokens or answers"},
    {.pointer = "/fleet/autoscaling/target",
     .reach = of_scaling<&Scaling::target>,
     .bounds = {.low = 0, .high = 1e9, .low_open = true},
     .doc = "target of the metric: replicas wanted = ceil(replicas x metric / target)"},
    {.pointer = "/fleet/autoscaling/percentile",
     .reach = of_scaling<&Scaling::percentile>,
     .bounds = {.low = 50, .high = 99},
     .doc = "percentile of the latencies for metric ttft or tpot"},
    {.pointer = "/fleet/autoscaling/interval_s",
     .reach = of_scaling<&Scaling::interval_s>,
     .unit = "s",
     .bounds = kDuration,
     .doc = "between decisions"},
    {.pointer = "/fleet/autoscaling/tolerance",
     .reach = of_scaling<&Scaling::tolerance>,
     .bounds = {.low = 0, .high = 1e6},
     .doc = "no change while metric / target differs from 1 by at most this"},
    {.pointer = "/fleet/autoscaling/scale_up_stabilization_s",
     .reach = of_scaling<&Scaling::scale_up_stabilization_s>,
     .unit = "s",
     .bounds = kDelay,
     .doc = "scale up only to the smallest count wanted within this time"},
    {.pointer = "/fleet/autoscaling/scale_down_stabilization_s",
     .reach = of_scaling<&Scaling::scale_down_stabilization_s>,
     .unit = "s",
     .bounds = kDelay,
     .doc = "scale down only to the largest count wanted within this time"},
    {.pointer = "/fleet/autoscaling/max_added",
     .reach = of_scaling<&Scaling::max_added>,
     .bounds = kPlaces,
     .doc = "most replicas added within period_s",
     .absent = "no limit"},
    {.pointer = "/fleet/autoscaling/max_removed",
     .reach = of_scaling<&Scaling::max_removed>,
     .bounds = kPlaces,
     .doc = "most replicas removed within period_s",
     .absent = "no limit"},
    {.pointer = "/fleet/autoscaling/period_s",
     .reach = of_scaling<&Scaling::period_s>,
     .unit = "s",
     .bounds = kDuration,
     .doc = "period of max_added and max_removed"},
    {.pointer = "/fleet/autoscaling/provisioning_s",
     .reach = of_scaling<&Scaling::provisioning_s>,
     .unit = "s",
     .bounds = kDelay,
     .doc = "time until a node is ready to start a replica on"},
    {.pointer = "/fleet/autoscaling/start_s",
     .reach = of_scaling<&Scaling::start_s>,
     .unit = "s",
     .bounds = kDuration,
     .doc = "time from a ready node to the first request: process start, weights, warm-up",
     .absent = "engine.restart_s of its group"},
    {.pointer = "/fleet/autoscaling/nodes_ready",
     .reach = of_scaling<&Scaling::nodes_ready>,
     .bounds = {.low = 0, .high = 65535},
     .doc = "idle nodes: this many replicas start without provisioning_s"},
    {.pointer = "/fleet/autoscaling/pay_idle_nodes",
     .reach = of_scaling<&Scaling::pay_idle_nodes>,
     .doc = "charge idle nodes at the price of a replica"},
    {.pointer = "/fleet/restarts/at_s",
     .reach = of_restart<&RestartSection::at_s>,
     .unit = "s",
     .bounds = kDelay,
     .doc = "simulated time at which the serving replicas begin to restart, in order of their "
            "numbers"},
    {.pointer = "/fleet/restarts/down_s",
     .reach = of_restart<&RestartSection::down_s>,
     .unit = "s",
     .bounds = kDuration,
     .doc = "time from the end of a replica's last request until it is back",
     .absent = "the start time of its group"},
    {.pointer = "/fleet/restarts/at_once",
     .reach = of_restart<&RestartSection::at_once>,
     .bounds = kPlaces,
     .doc = "most replicas draining or down for the restart at a time"},
    {.pointer = "/fleet/faults/zone_losses/zone",
     .reach = of_zone_loss<&ZoneLossSection::zone>,
     .bounds = {.low = 0, .high = 65534},
     .doc = "number of the zone whose replicas all crash"},
    {.pointer = "/fleet/faults/zone_losses/at_s",
     .reach = of_zone_loss<&ZoneLossSection::at_s>,
     .unit = "s",
     .bounds = kDelay,
     .doc = "simulated time at which the zone fails"},
    {.pointer = "/fleet/faults/zone_losses/for_s",
     .reach = of_zone_loss<&ZoneLossSection::for_s>,
     .unit = "s",
     .bounds = kDuration,
     .doc = "time until the zone is back and its replicas start again"},
};

}  // namespace

std::span<const OptionRow> fleet_scaling_element_options() { return kRowsOfScaling; }

}  // namespace headroom
