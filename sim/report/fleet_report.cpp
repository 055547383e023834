#include "sim/report/fleet_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "sim/report/cascade_report.hpp"
#include "sim/report/energy_report.hpp"
#include "sim/report/names.hpp"
#include "sim/report/terminal.hpp"
#include "sim/report/transfer_report.hpp"
#include "sim/resolve/fleet_cascade.hpp"
#include "sim/resolve/fleet_lifecycle_factory.hpp"
#include "sim/resolve/fleet_routes.hpp"

namespace headroom {
namespace {

using Json = nlohmann::ordered_json;

// Sums over replicas; shares are of their whole time, or of their whole pools.
struct Use {
  ReplicaCounts counts;
  double busy_ticks = 0;
  double all_ticks = 0;
  double used_blocks = 0;
  double all_blocks = 0;
  double peak = 0;
  std::int64_t ooms = 0;

  void add(const RunResult& result, std::uint16_t number) {
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

  [[nodiscard]] double busy_share() const { return all_ticks > 0 ? busy_ticks / all_ticks : 0; }
  [[nodiscard]] double mean_kv() const { return all_blocks > 0 ? used_blocks / all_blocks : 0; }
};

Json use_json(const Use& use) {
  Json requests = Json::object();
  for (std::size_t i = 0; i < kOutcomeCount; ++i) {
    requests[std::string(name_of(static_cast<Outcome>(i)))] = use.counts.requests[i];
  }
  return {{"requests", std::move(requests)},
          {"total_input_tokens", use.counts.prompt_tokens},
          {"total_output_tokens", use.counts.output_tokens},
          {"busy_share", use.busy_share()},
          {"mean_kv_utilisation", use.mean_kv()},
          {"peak_kv_utilisation", use.peak},
          {"oom", use.ooms},
          {"crashes", use.counts.crashes},
          {"resent", use.counts.handed_back},
          {"discarded_tokens", use.counts.discarded_tokens}};
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

// That cost what a replica costs: replicas, and idle nodes where they are paid for.
double mean_paid(const RunResult& result, std::size_t index, std::size_t first) {
  const FleetGroup& group = result.groups[index];
  const double replicas = mean_replicas(result, group, first);
  const AutoscalingSection* scaling = autoscaling_of(result.resolved.scenario.fleet, group.name);
  if (scaling == nullptr || !scaling->pay_idle_nodes || result.totals.end_ns == 0) return replicas;
  return replicas + idle_node_seconds(result, index) / fleet_seconds(result.totals.end_ns);
}

Json size_json(const RunResult& result, std::size_t index, std::size_t first) {
  const FleetGroup& group = result.groups[index];
  return {{"max_replicas", group.places},
          {"mean_replicas", mean_replicas(result, group, first)},
          {"peak_replicas", result.totals.lifecycle->most_at_once[index]},
          {"replica_seconds", fleet_seconds(replica_ns(result, group, first))},
          {"idle_node_seconds", idle_node_seconds(result, index)}};
}

Json lifecycle_json(const RunResult& result) {
  const LifecycleTotals& totals = *result.totals.lifecycle;
  TimeNs sum = 0;
  for (const TimeNs time_ns : totals.exists_ns) sum += time_ns;
  Json decisions = Json::array();
  for (const ScaleDecision& one : totals.decisions) {
    decisions.push_back({{"time_s", fleet_seconds(one.time_ns)},
                         {"group", result.groups[one.group].name},
                         {"from", one.from},
                         {"to", one.to},
                         {"ready", one.ready},
                         {"metric", one.metric}});
  }
  return {{"replica_seconds", fleet_seconds(sum)},
          {"restarts", totals.restarts},
          {"turned_away_without_replica", result.totals.without_replica},
          {"scaling", std::move(decisions)}};
}

std::string lifecycle_text(const RunResult& result) {
  const LifecycleTotals& totals = *result.totals.lifecycle;
  std::int64_t added = 0;
  std::int64_t removed = 0;
  for (const ScaleDecision& one : totals.decisions) {
    (one.to > one.from ? added : removed) += std::abs(one.to - one.from);
  }
  TimeNs sum = 0;
  for (const TimeNs time_ns : totals.exists_ns) sum += time_ns;
  return fmt::format("{:.2f} replica-hours; {} added, {} removed, {} restarted",
                     fleet_seconds(sum) / 3600, added, removed, totals.restarts);
}

Json group_json(const RunResult& result, std::size_t index, std::size_t first) {
  const FleetGroup& group = result.groups[index];
  Use all;
  Json replicas = Json::array();
  for (std::int64_t i = 0; result.started && i < group.places; ++i) {
    const auto number = static_cast<std::uint16_t>(first + static_cast<std::size_t>(i));
    if (exists_ns(result, number) == 0 && result.totals.end_ns > 0) continue;
    Use one;
    one.add(result, number);
    all.add(result, number);
    Json json = {{"replica", number}};
    if (result.totals.lifecycle) json["seconds"] = fleet_seconds(exists_ns(result, number));
    json.update(use_json(one));
    json["energy"] =
        energy_json(energy_of(result, group.resolved, number, 1), one.counts.output_tokens);
    replicas.push_back(std::move(json));
  }
  const Resolved& r = group.resolved;
  Json json = {{"count", group.count},
               {"model", r.model.id},
               {"device", r.device.id},
               {"engine", r.engine->name},
               {"engine_version", r.scenario.engine.version.value_or("")},
               {"calibration", group.cost.calibration},
               {"weight", group.weight},
               {"cost_per_hour", group.cost_per_hour ? Json(*group.cost_per_hour) : Json(nullptr)},
               {"kv_tokens", group.pool_tokens}};
  if (result.totals.lifecycle) json.update(size_json(result, index, first));
  json.update(use_json(all));
  json["energy"] =
      energy_json(energy_of(result, group.resolved, first, group.places), all.counts.output_tokens);
  json["replicas"] = std::move(replicas);
  return json;
}

// Latencies are known where records are kept.
Json routes_json(const RunResult& result) {
  const FleetSection& fleet = result.resolved.scenario.fleet;
  std::vector<Use> uses(fleet.routes.size());
  std::vector<std::size_t> route_of;  // by replica
  for (const FleetGroup& group : result.groups) {
    const std::size_t route = route_of_group(fleet, group.name);
    for (std::int64_t i = 0; i < group.places; ++i) {
      uses[route].add(result, static_cast<std::uint16_t>(route_of.size()));
      route_of.push_back(route);
    }
  }
  std::vector<std::vector<RequestRecord>> records(fleet.routes.size());
  for (const RequestRecord& record : result.recorder->records()) {
    if (record.replica != kNoReplica) records[route_of.at(record.replica)].push_back(record);
  }
  ServingOptions options;
  options.client_latency_ns = result.cost.client_latency_ns;
  Json routes = Json::object();
  for (std::size_t i = 0; i < fleet.routes.size(); ++i) {
    Json& json = routes[fleet.routes[i].name] = use_json(uses[i]);
    json["groups"] = fleet.routes[i].groups;
    if (!result.totals.routes.empty()) json.update(route_counts_json(result.totals.routes[i]));
    if (records[i].empty()) continue;
    const ServingMetrics metrics = serving_metrics(records[i], nullptr, options);
    json["request_throughput"] = metrics.request_throughput;
    json["output_throughput"] = metrics.output_throughput;
    json["mean_ttft_ms"] = metrics.mean_ttft_ms;
    json["p99_ttft_ms"] = metrics.p99_ttft_ms;
    json["mean_tpot_ms"] = metrics.mean_tpot_ms;
    json["p99_tpot_ms"] = metrics.p99_tpot_ms;
    json["mean_e2el_ms"] = metrics.mean_e2el_ms;
    json["p99_e2el_ms"] = metrics.p99_e2el_ms;
  }
  return routes;
}

// Of all that is paid for, on average over the run; nothing as long as a group has no price.
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

}  // namespace

Json fleet_json(const RunResult& result) {
  std::int64_t replicas = 0;
  for (const FleetGroup& group : result.groups) replicas += group.count;
  Json json = {{"replicas", replicas},
               {"router", result.resolved.scenario.fleet.router.policy},
               {"admission", result.resolved.scenario.fleet.admission.policy},
               {"turned_away", result.totals.turned_away}};
  if (const auto price = dollars_per_hour(result)) {
    json["cost_per_hour"] = *price;
    json["cost"] = *price * hours(result);
    const TokenCount tokens = result.summary.metrics.total_output_tokens;
    if (tokens > 0) {
      json["cost_per_million_output_tokens"] =
          *price * hours(result) / (static_cast<double>(tokens) / 1e6);
    }
  }
  if (result.totals.lifecycle) json.update(lifecycle_json(result));
  Json groups = Json::object();
  std::size_t first = 0;
  for (std::size_t i = 0; i < result.groups.size(); ++i) {
    groups[result.groups[i].name] = group_json(result, i, first);
    first += static_cast<std::size_t>(result.groups[i].places);
  }
  json["groups"] = std::move(groups);
  if (result.started && !result.resolved.scenario.fleet.routes.empty()) {
    json["routes"] = routes_json(result);
    if (judges_answers(result.resolved.scenario.fleet)) json["not_kept"] = wasted_json(result);
  }
  if (result.totals.transfers) json["transfers"] = transfers_json(result);
  return json;
}

Json group_values_json(const RunResult& result) {
  Json groups = Json::object();
  for (const FleetGroup& group : result.groups) {
    Json& values = groups[group.name] = Json::object();
    for (const ResolvedValue& value : group.values) {
      values[value.pointer] = {{"value", Json::parse(value.json)}, {"set_by", value.source}};
    }
  }
  return groups;
}

std::vector<std::pair<std::string_view, std::string>> fleet_lines(const RunResult& result) {
  std::vector<std::pair<std::string_view, std::string>> lines;
  if (!result.is_fleet) return lines;
  std::size_t first = 0;
  for (const FleetGroup& group : result.groups) {
    Use use;
    const std::string replicas = result.totals.lifecycle
                                     ? fmt::format("{:.2f}", mean_replicas(result, group, first))
                                     : fmt::format("{}", group.count);
    for (std::int64_t i = 0; i < group.places; ++i, ++first) {
      use.add(result, static_cast<std::uint16_t>(first));
    }
    const Resolved& r = group.resolved;
    std::string text = fmt::format(
        "{} x {} on {}, {}: {} requests finished, {:.0f} tokens/s; busy {:.1f} %, KV {:.1f} % "
        "in "
        "use",
        replicas, r.model.id, r.device.id, r.engine->name,
        human_count(use.counts.of(Outcome::finished)),
        static_cast<double>(use.counts.output_tokens) / (3600 * hours(result)),
        100 * use.busy_share(), 100 * use.mean_kv());
    if (use.counts.crashes > 0) {
      text += fmt::format("; crashes: {}, with {} requests lost, {} sent again", use.counts.crashes,
                          human_count(use.counts.of(Outcome::lost_to_fault)),
                          human_count(use.counts.handed_back));
    }
    lines.emplace_back("group", fmt::format("{}: {}", group.name, text));
  }
  for (auto& line : route_lines(result)) lines.push_back(std::move(line));
  if (result.totals.lifecycle) lines.emplace_back("replicas", lifecycle_text(result));
  if (result.totals.transfers) lines.emplace_back("transfers", transfers_line(result));
  if (result.totals.turned_away > 0) {
    lines.emplace_back("admission", fmt::format("{} requests rejected ({})",
                                                human_count(result.totals.turned_away),
                                                result.resolved.scenario.fleet.admission.policy));
  }
  if (const auto price = dollars_per_hour(result)) {
    const auto tokens = static_cast<double>(result.summary.metrics.total_output_tokens);
    std::string text = fmt::format("$ {:.2f} an hour", *price);
    if (tokens > 0) {
      text += fmt::format(", $ {:.3f} per million output tokens",
                          *price * hours(result) / (tokens / 1e6));
    }
    lines.emplace_back("cost", text);
  }
  return lines;
}

}  // namespace headroom
