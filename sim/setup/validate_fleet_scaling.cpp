// What autoscaling, restarts and zones of a fleet must say, and what has no effect.

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel/errors.hpp"
#include "sim/setup/fleet_lifecycle_factory.hpp"

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
        refuse(here, fmt::format("its group follows /fleet/autoscaling/{} already", k));
      }
    }
    if (a.max_replicas < a.min_replicas) {
      refuse(here + "/max_replicas",
             fmt::format("value {}: fewer than min_replicas = {}", a.max_replicas, a.min_replicas));
    }
    const std::int64_t count = size_of_group(s_, group).count;
    if (count < a.min_replicas || count > a.max_replicas) {
      refuse(
          fleet_.groups.empty() ? "/fleet/replicas" : fmt::format("/fleet/groups/{}/count", group),
          fmt::format("value {}: autoscaling keeps {} to {} replicas", count, a.min_replicas,
                      a.max_replicas));
    }
    if (a.nodes_ready > 0 && a.provisioning_s == 0) {
      refuse(here + "/nodes_ready", "has no effect without provisioning_s");
    }
    check_idle_nodes(a, group, here);
    if (s_.is_given(here + "/percentile") && a.metric != "ttft" && a.metric != "tpot") {
      refuse(here + "/percentile", fmt::format("has no effect with metric {}", a.metric));
    }
    if (s_.is_given(here + "/period_s") && !a.max_added && !a.max_removed) {
      refuse(here + "/period_s", "has no effect without max_added or max_removed");
    }
    for (const char* name : {"utilization", "kv"}) {
      if (a.metric != name || a.target <= 1) continue;
      refuse(here + "/target",
             fmt::format("value {}: metric {} is a share: at most 1", a.target, a.metric));
    }
  }

  void check_idle_nodes(const AutoscalingSection& a, std::size_t group,
                        const std::string& here) const {
    if (!a.pay_idle_nodes) return;
    const bool has_price = fleet_.groups.empty() ? fleet_.cost_per_hour.has_value()
                                                 : fleet_.groups[group].cost_per_hour.has_value();
    const std::string pointer = here + "/pay_idle_nodes";
    if (a.nodes_ready == 0) refuse(pointer, "has no effect without nodes_ready");
    if (!has_price) refuse(pointer, "has no effect without cost_per_hour");
  }

  [[nodiscard]] std::size_t group_of(const AutoscalingSection& a, const std::string& here) const {
    if (a.group.empty() && fleet_.groups.size() <= 1) return 0;
    if (a.group.empty()) {
      throw ConfigError(fmt::format("{}: {}: missing: group (there are {})", s_.origin(here), here,
                                    fleet_.groups.size()));
    }
    const auto found = std::ranges::find(fleet_.groups, a.group, &GroupSection::name);
    if (found == fleet_.groups.end()) {
      refuse(here + "/group", fmt::format("value \"{}\": no group has this name", a.group));
    }
    return static_cast<std::size_t>(found - fleet_.groups.begin());
  }

  void check_zones() const {
    const std::int64_t count = fleet_.zones.value_or(1);
    const auto& losses = fleet_.faults.zone_losses;
    if (fleet_.zones && losses.empty()) {
      refuse("/fleet/zones", "has no effect without fleet.faults.zone_losses");
    }
    for (std::size_t i = 0; i < fleet_.groups.size(); ++i) {
      const std::string pointer = fmt::format("/fleet/groups/{}/zones", i);
      const auto& own = fleet_.groups[i].zones;
      if (!own.empty() && losses.empty()) {
        refuse(pointer, "has no effect without fleet.faults.zone_losses");
      }
      for (const std::int64_t zone : own) refuse_beyond(zone, count, pointer);
    }
    const std::vector<std::int64_t> zones = zones_of_replicas(s_);
    for (std::size_t i = 0; i < losses.size(); ++i) {
      const std::string pointer = fmt::format("/fleet/faults/zone_losses/{}/zone", i);
      refuse_beyond(losses[i].zone, count, pointer);
      if (std::ranges::find(zones, losses[i].zone) == zones.end()) {
        refuse(pointer, fmt::format("value {}: no replica stands there", losses[i].zone));
      }
    }
  }

  void refuse_beyond(std::int64_t zone, std::int64_t count, const std::string& pointer) const {
    if (zone < count) return;
    refuse(pointer,
           fmt::format("value {}: there are {} zones, numbered from 0 (fleet.zones)", zone, count));
  }

  [[noreturn]] void refuse(const std::string& pointer, std::string_view why) const {
    throw ConfigError(fmt::format("{}: {}: {}", s_.origin(pointer), pointer, why));
  }

  const Scenario& s_;
  const FleetSection& fleet_;
};

}  // namespace

void validate_fleet_scaling(const Scenario& scenario) { ScalingValidator(scenario).check(); }

}  // namespace headroom
