// What autoscaling, restarts and zones of a fleet must say, and what has no effect.

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel/errors.hpp"
#include "sim/resolve/fleet_lifecycle_factory.hpp"

namespace headroom {
namespace {

class ScalingValidator {
 public:
  explicit ScalingValidator(const Scenario& scenario) : s_(scenario), fleet_(scenario.fleet) {}

  void check() const {
    for (std::size_t i = 0; i < fleet_.autoscaling.size(); ++i) check_autoscaling(i);
    check_zones();
  }

 private:
  void check_autoscaling(std::size_t i) const {
    const AutoscalingSection& a = fleet_.autoscaling[i];
    const std::string here = fmt::format("/fleet/autoscaling/{}", i);
    const std::size_t group = group_of(a, here);
    for (std::size_t k = 0; k < i; ++k) {
      const std::string& other = fleet_.autoscaling[k].group;
      if (fleet_.groups.empty() || other.empty() || other == fleet_.groups[group].name) {
        s_.refuse(here, fmt::format("/fleet/autoscaling/{} already scales this group", k));
      }
    }
    if (a.max_replicas < a.min_replicas) {
      s_.refuse_value(here + "/max_replicas", fmt::to_string(a.max_replicas),
                      fmt::format("fewer than min_replicas = {}", a.min_replicas));
    }
    const std::int64_t count = size_of_group(s_, group).count;
    if (count < a.min_replicas || count > a.max_replicas) {
      s_.refuse_value(
          fleet_.groups.empty() ? "/fleet/replicas" : fmt::format("/fleet/groups/{}/count", group),
          fmt::to_string(count),
          fmt::format("autoscaling keeps {} to {} replicas", a.min_replicas, a.max_replicas));
    }
    if (a.nodes_ready > 0 && a.provisioning_s == 0) {
      s_.refuse_unused(here + "/nodes_ready", " without provisioning_s");
    }
    check_idle_nodes(a, group, here);
    if (s_.is_given(here + "/percentile") && a.metric != "ttft" && a.metric != "tpot") {
      s_.refuse_unused(here + "/percentile", fmt::format(" with metric {}", a.metric));
    }
    if (s_.is_given(here + "/period_s") && !a.max_added && !a.max_removed) {
      s_.refuse_unused(here + "/period_s", " without max_added or max_removed");
    }
    for (const char* name : {"utilization", "kv"}) {
      if (a.metric != name || a.target <= 1) continue;
      s_.refuse_value(here + "/target", fmt::to_string(a.target),
                      fmt::format("metric {} is a share: at most 1", a.metric));
    }
  }

  void check_idle_nodes(const AutoscalingSection& a, std::size_t group,
                        const std::string& here) const {
    if (!a.pay_idle_nodes) return;
    const bool has_price = fleet_.groups.empty() ? fleet_.cost_per_hour.has_value()
                                                 : fleet_.groups[group].cost_per_hour.has_value();
    const std::string pointer = here + "/pay_idle_nodes";
    if (a.nodes_ready == 0) s_.refuse_unused(pointer, " without nodes_ready");
    if (!has_price) s_.refuse_unused(pointer, " without cost_per_hour");
  }

  [[nodiscard]] std::size_t group_of(const AutoscalingSection& a, const std::string& here) const {
    if (a.group.empty() && fleet_.groups.size() <= 1) return 0;
    if (a.group.empty()) {
      throw ConfigError(Complaint{
          .kind = ErrorKind::missing,
          .origin = s_.origin(here),
          .pointer = here,
          .problem = fmt::format("missing: group (there are {} groups)", fleet_.groups.size())});
    }
    const auto found = std::ranges::find(fleet_.groups, a.group, &GroupSection::name);
    if (found == fleet_.groups.end()) {
      s_.refuse_value(here + "/group", fmt::format("\"{}\"", a.group), "no group has this name",
                      ErrorKind::unknown);
    }
    return static_cast<std::size_t>(found - fleet_.groups.begin());
  }

  void check_zones() const {
    const std::int64_t count = fleet_.zones.value_or(1);
    const auto& losses = fleet_.faults.zone_losses;
    if (fleet_.zones && losses.empty()) {
      s_.refuse_unused("/fleet/zones", " without fleet.faults.zone_losses");
    }
    for (std::size_t i = 0; i < fleet_.groups.size(); ++i) {
      const std::string pointer = fmt::format("/fleet/groups/{}/zones", i);
      const auto& own = fleet_.groups[i].zones;
      if (!own.empty() && losses.empty()) {
        s_.refuse_unused(pointer, " without fleet.faults.zone_losses");
      }
      for (const std::int64_t zone : own) refuse_beyond(zone, count, pointer);
    }
    const std::vector<std::int64_t> zones = zones_of_replicas(s_);
    for (std::size_t i = 0; i < losses.size(); ++i) {
      const std::string pointer = fmt::format("/fleet/faults/zone_losses/{}/zone", i);
      refuse_beyond(losses[i].zone, count, pointer);
      if (std::ranges::find(zones, losses[i].zone) == zones.end()) {
        s_.refuse_value(pointer, fmt::to_string(losses[i].zone), "this zone has no replica");
      }
    }
  }

  void refuse_beyond(std::int64_t zone, std::int64_t count, const std::string& pointer) const {
    if (zone < count) return;
    s_.refuse_value(pointer, fmt::to_string(zone),
                    fmt::format("there are {} zones, numbered from 0 (fleet.zones)", count));
  }

  const Scenario& s_;
  const FleetSection& fleet_;
};

}  // namespace

void validate_fleet_scaling(const Scenario& scenario) { ScalingValidator(scenario).check(); }

}  // namespace headroom
