#include "sim/report/text/cascade_report.hpp"

#include <fmt/format.h>

#include "sim/report/json/fleet_figures.hpp"
#include "sim/report/json/names.hpp"
#include "sim/report/text/terminal.hpp"

namespace headroom {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

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
  const CascadeWaste waste = waste_of(result);
  if (waste.answers == 0) return lines;
  const auto all = static_cast<double>(waste.output_tokens + waste.kept_tokens);
  lines.emplace_back(
      "not kept", fmt::format("{} answers with {} tokens, {:.1f} % of all finished output tokens",
                              human_count(waste.answers), human_count(waste.output_tokens),
                              100 * static_cast<double>(waste.output_tokens) / all));
  return lines;
}

}  // namespace headroom
