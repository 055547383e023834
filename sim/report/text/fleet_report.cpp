#include "sim/report/text/fleet_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "sim/report/json/fleet_figures.hpp"
#include "sim/report/json/names.hpp"
#include "sim/report/text/cascade_report.hpp"
#include "sim/report/text/energy_report.hpp"
#include "sim/report/text/terminal.hpp"
#include "sim/report/text/transfer_report.hpp"
#include "sim/resolve/fleet_cascade.hpp"
#include "sim/resolve/fleet_lifecycle_factory.hpp"
#include "sim/resolve/fleet_routes.hpp"

namespace headroom {
namespace {

using Json = nlohmann::ordered_json;

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

}  // namespace

std::vector<std::pair<std::string_view, std::string>> fleet_lines(const RunResult& result) {
  std::vector<std::pair<std::string_view, std::string>> lines;
  if (!result.is_fleet) return lines;
  std::size_t first = 0;
  for (const FleetGroup& group : result.groups) {
    ReplicaUse use;
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
