#include "sim/report/json/fleet_json.hpp"

#include <utility>

#include "sim/report/json/energy_json.hpp"
#include "sim/report/json/fleet_figures.hpp"
#include "sim/report/json/names.hpp"
#include "sim/resolve/fleet_cascade.hpp"
#include "sim/resolve/fleet_routes.hpp"

namespace headroom {
namespace {

using Json = nlohmann::ordered_json;

Json route_counts_json(const RouteCounts& counts) {
  Json left = Json::object();
  for (std::size_t i = 0; i < kOutcomeCount; ++i) {
    left[std::string(name_of(static_cast<Outcome>(i)))] = counts.left[i];
  }
  return {{"arrived", counts.arrived},
          {"from_other_routes", counts.from_routes},
          {"kept", counts.of(Outcome::finished)},
          {"escalated", counts.escalated},
          {"left", std::move(left)},
          {"kept_output_tokens", counts.kept_tokens},
          {"wasted_input_tokens", counts.wasted_input_tokens},
          {"wasted_output_tokens", counts.wasted_tokens}};
}

Json wasted_json(const RunResult& result) {
  const CascadeWaste waste = waste_of(result);
  return {{"answers", waste.answers},
          {"input_tokens", waste.input_tokens},
          {"output_tokens", waste.output_tokens}};
}

Json transfers_json(const RunResult& result) {
  const TransferCounts& counts = *result.totals.transfers;
  return {{"count", counts.transfers},
          {"bytes", counts.bytes},
          {"mean_room_wait_ms", mean_ms(counts.room_wait_ns, counts.transfers)},
          {"mean_port_wait_ms", mean_ms(counts.port_wait_ns, counts.transfers)},
          {"prefill_port_busy_share", port_share(result, ReplicaRole::prefill)},
          {"decode_port_busy_share", port_share(result, ReplicaRole::decode)},
          {"kv_lost", counts.lost},
          {"abandoned", counts.abandoned},
          {"local_short", counts.local_short},
          {"local_queued", counts.local_queued}};
}

Json use_json(const ReplicaUse& use) {
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

Json group_json(const RunResult& result, std::size_t index, std::size_t first) {
  const FleetGroup& group = result.groups[index];
  ReplicaUse all;
  Json replicas = Json::array();
  for (std::int64_t i = 0; result.started && i < group.places; ++i) {
    const auto number = static_cast<std::uint16_t>(first + static_cast<std::size_t>(i));
    if (exists_ns(result, number) == 0 && result.totals.end_ns > 0) continue;
    ReplicaUse one;
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
  std::vector<ReplicaUse> uses(fleet.routes.size());
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
  options.client_latency = result.cost.client_latency;
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

}  // namespace headroom
