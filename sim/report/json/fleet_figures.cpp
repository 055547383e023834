#include "sim/report/json/fleet_figures.hpp"

#include <algorithm>

#include "sim/resolve/fleet_lifecycle_factory.hpp"

namespace headroom {
namespace {

// That cost what a replica costs: replicas, and idle nodes where they are paid for.
double mean_paid(const RunResult& result, std::size_t index, std::size_t first) {
  const FleetGroup& group = result.groups[index];
  const double replicas = mean_replicas(result, group, first);
  const AutoscalingSection* scaling = autoscaling_of(result.resolved.scenario.fleet, group.name);
  if (scaling == nullptr || !scaling->pay_idle_nodes || result.totals.end_ns == 0) return replicas;
  return replicas + idle_node_seconds(result, index) / fleet_seconds(result.totals.end_ns);
}

}  // namespace

void ReplicaUse::add(const RunResult& result, std::uint16_t number) {
  counts += result.totals.replicas[number];
  const auto ticks = static_cast<double>(ticks_from_ns(exists_ns(result, number)));
  all_ticks += ticks;
  for (const OomEntry& oom : result.summary.ooms) ooms += oom.replica == number ? oom.count : 0;
  const Recorder& recorder = *result.recorder;
  if (number >= recorder.replicas()) return;
  const ReplicaMeters& meters = recorder.replica(number);
  busy_ticks += static_cast<double>(meters.cost.busy_ticks());
  used_blocks += static_cast<double>(meters.kv.integrals().used_blocks);
  if (!result.totals.lifecycle) {
    all_blocks += static_cast<double>(meters.kv.integrals().total_blocks);
  }
  const BlockCount capacity = meters.kv.capacity_blocks();
  if (result.totals.lifecycle) all_blocks += static_cast<double>(capacity) * ticks;
  if (capacity == 0) return;
  peak = std::max(
      peak, static_cast<double>(meters.kv.peak_used_blocks()) / static_cast<double>(capacity));
}

double fleet_seconds(TimeNs time_ns) { return static_cast<double>(time_ns) / kNsPerSecondReal; }

TimeNs replica_ns(const RunResult& result, const FleetGroup& group, std::size_t first) {
  TimeNs sum = 0;
  for (std::int64_t i = 0; i < group.places; ++i) {
    sum += exists_ns(result, first + static_cast<std::size_t>(i));
  }
  return sum;
}

double mean_replicas(const RunResult& result, const FleetGroup& group, std::size_t first) {
  if (!result.totals.lifecycle || result.totals.end_ns == 0) {
    return static_cast<double>(group.count);
  }
  return fleet_seconds(replica_ns(result, group, first)) / fleet_seconds(result.totals.end_ns);
}

double idle_node_seconds(const RunResult& result, std::size_t index) {
  return result.totals.lifecycle ? fleet_seconds(result.totals.lifecycle->idle_node_ns[index]) : 0;
}

std::optional<double> dollars_per_hour(const RunResult& result) {
  double sum = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < result.groups.size(); ++i) {
    const FleetGroup& group = result.groups[i];
    if (!group.cost_per_hour) return std::nullopt;
    sum += *group.cost_per_hour * mean_paid(result, i, first);
    first += static_cast<std::size_t>(group.places);
  }
  return sum;
}

double hours(const RunResult& result) { return static_cast<double>(result.totals.end_ns) / 3.6e12; }

CascadeWaste waste_of(const RunResult& result) {
  CascadeWaste waste;
  for (const RouteCounts& counts : result.totals.routes) {
    waste.answers += counts.escalated;
    waste.input_tokens += counts.wasted_input_tokens;
    waste.output_tokens += counts.wasted_tokens;
    waste.kept_tokens += counts.kept_tokens;
  }
  return waste;
}

double port_share(const RunResult& result, ReplicaRole role) {
  const TransferCounts& counts = *result.totals.transfers;
  double busy = 0;
  double all = 0;
  std::size_t number = 0;
  for (const FleetGroup& group : result.groups) {
    for (std::int64_t i = 0; i < group.count; ++i, ++number) {
      if (group.role != role) continue;
      busy += static_cast<double>(counts.port_busy_ns[number]);
      all += static_cast<double>(result.totals.end_ns);
    }
  }
  return all > 0 ? busy / all : 0;
}

double mean_ms(Int128 sum_ns, std::int64_t count) {
  return count == 0 ? 0 : static_cast<double>(sum_ns) / 1e6 / static_cast<double>(count);
}

}  // namespace headroom
