#include "sim/report/fleet_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/report/names.hpp"
#include "sim/report/terminal.hpp"

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
    all_ticks += static_cast<double>(ticks_from_ns(result.totals.end_ns));
    for (const OomEntry& oom : result.summary.ooms) ooms += oom.replica == number ? oom.count : 0;
    const Recorder& recorder = *result.recorder;
    if (number >= recorder.replicas()) return;
    const ReplicaMeters& meters = recorder.replica(number);
    busy_ticks += static_cast<double>(meters.cost.busy_ticks());
    used_blocks += static_cast<double>(meters.kv.integrals().used_blocks);
    all_blocks += static_cast<double>(meters.kv.integrals().total_blocks);
    const BlockCount capacity = meters.kv.capacity_blocks();
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

Json group_json(const RunResult& result, const FleetGroup& group, std::size_t first) {
  Use all;
  Json replicas = Json::array();
  for (std::int64_t i = 0; result.started && i < group.count; ++i) {
    const auto number = static_cast<std::uint16_t>(first + static_cast<std::size_t>(i));
    Use one;
    one.add(result, number);
    all.add(result, number);
    Json json = {{"replica", number}};
    json.update(use_json(one));
    replicas.push_back(std::move(json));
  }
  const Resolved& r = group.resolved;
  Json json = {{"count", group.count},
               {"model", r.model.id},
               {"device", r.device.id},
               {"engine", r.profile->name},
               {"engine_version", r.scenario.engine.version.value_or("")},
               {"calibration", group.cost.calibration},
               {"weight", group.weight},
               {"cost_per_hour", group.cost_per_hour ? Json(*group.cost_per_hour) : Json(nullptr)},
               {"kv_tokens", group.pool_tokens}};
  json.update(use_json(all));
  json["replicas"] = std::move(replicas);
  return json;
}

// Of all replicas for the whole run; nothing as long as a group has no price.
std::optional<double> dollars_per_hour(const RunResult& result) {
  if (result.groups.empty()) return std::nullopt;
  double sum = 0;
  for (const FleetGroup& group : result.groups) {
    if (!group.cost_per_hour) return std::nullopt;
    sum += *group.cost_per_hour * static_cast<double>(group.count);
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
  Json groups = Json::object();
  std::size_t first = 0;
  for (const FleetGroup& group : result.groups) {
    groups[group.name] = group_json(result, group, first);
    first += static_cast<std::size_t>(group.count);
  }
  json["groups"] = std::move(groups);
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
  std::size_t first = 0;
  for (const FleetGroup& group : result.groups) {
    Use use;
    for (std::int64_t i = 0; i < group.count; ++i, ++first) {
      use.add(result, static_cast<std::uint16_t>(first));
    }
    const Resolved& r = group.resolved;
    std::string text = fmt::format(
        "{} x {} on {}, {}: {} requests finished, {:.0f} tokens/s; busy {:.1f} %, KV {:.1f} % in "
        "use",
        group.count, r.model.id, r.device.id, r.profile->name,
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
  if (result.totals.turned_away > 0) {
    lines.emplace_back("admission", fmt::format("{} requests turned away ({})",
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
