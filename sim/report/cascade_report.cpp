#include "sim/report/cascade_report.hpp"

#include <fmt/format.h>

#include "sim/report/names.hpp"
#include "sim/report/terminal.hpp"

namespace headroom {
namespace {

using Json = nlohmann::ordered_json;

struct Waste {
  std::int64_t answers = 0;
  TokenCount input_tokens = 0;
  TokenCount output_tokens = 0;
  TokenCount kept_tokens = 0;
};

Waste waste_of(const RunResult& result) {
  Waste waste;
  for (const RouteCounts& counts : result.totals.routes) {
    waste.answers += counts.escalated;
    waste.input_tokens += counts.wasted_input_tokens;
    waste.output_tokens += counts.wasted_tokens;
    waste.kept_tokens += counts.kept_tokens;
  }
  return waste;
}

}  // namespace

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
  const Waste waste = waste_of(result);
  return {{"answers", waste.answers},
          {"input_tokens", waste.input_tokens},
          {"output_tokens", waste.output_tokens}};
}

std::vector<std::pair<std::string_view, std::string>> route_lines(const RunResult& result) {
  std::vector<std::pair<std::string_view, std::string>> lines;
  const auto& routes = result.resolved.scenario.fleet.routes;
  for (std::size_t i = 0; i < result.totals.routes.size(); ++i) {
    const RouteCounts& counts = result.totals.routes[i];
    std::string text =
        fmt::format("{}: {} of {} requests finished here", routes[i].name,
                    human_count(counts.of(Outcome::finished)), human_count(counts.arrived));
    if (routes[i].escalates_to) {
      text +=
          fmt::format(", {} went on to {}", human_count(counts.escalated), *routes[i].escalates_to);
    }
    lines.emplace_back("route", text);
  }
  const Waste waste = waste_of(result);
  if (waste.answers == 0) return lines;
  const auto all = static_cast<double>(waste.output_tokens + waste.kept_tokens);
  lines.emplace_back(
      "not kept", fmt::format("{} answers with {} tokens, {:.1f} % of all finished output tokens",
                              human_count(waste.answers), human_count(waste.output_tokens),
                              100 * static_cast<double>(waste.output_tokens) / all));
  return lines;
}

}  // namespace headroom
