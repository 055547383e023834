#include "sim/report/text/plan_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/intake/serve_command.hpp"
#include "sim/kernel/visible_text.hpp"
#include "sim/report/json/fleet_figures.hpp"
#include "sim/report/json/plan_json.hpp"
#include "sim/report/page/html_report.hpp"
#include "sim/report/text/terminal.hpp"
#include "sim/resolve/run_verdict.hpp"

namespace headroom {
namespace {

std::string shown_name(const FleetPlanFile& plan, const PlanCandidate& candidate) {
  return visible_text(candidate_name(plan, candidate));
}

std::string limits_text(const FleetPlanFile& plan) {
  std::string text;
  for (const PlanTarget& target : plan.targets) {
    text += fmt::format("{}{} <= {:g}", text.empty() ? "" : ", ", target.metric, target.limit_ms);
  }
  return text;
}

std::string head(const FleetPlanFile& plan, const FleetPlanResult& result) {
  const PlanTraffic& traffic = result.traffic.front();
  std::string text = fmt::format(
      "plan        {}: {:.1f} requests/s over {:.0f} s, {:.0f} tokens in and {:.0f} out "
      "on average\n",
      visible_text(plan.name), traffic.rate(), traffic.span_s, traffic.mean_prompt,
      traffic.mean_output);
  text += fmt::format("targets     {}\n", limits_text(plan));
  text +=
      fmt::format("survives    {} failed replica{}{}\n", plan.failures,
                  plan.failures == 1 ? "" : "s", plan.rolling_restart ? ", a rolling restart" : "");
  return text;
}

// Indices of targets on other latencies than the two that the table always has.
std::vector<std::size_t> other_targets(const FleetPlanFile& plan) {
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < plan.targets.size(); ++i) {
    const std::string& metric = plan.targets[i].metric;
    if (metric != "p99_ttft_ms" && metric != "p99_tpot_ms") others.push_back(i);
  }
  return others;
}

std::string met_row(const FleetPlanFile& plan, const PlannedFleet& fleet) {
  std::string targets;
  for (const std::size_t i : other_targets(plan)) {
    targets += fmt::format("{:>14}", human_ms(fleet.whole.targets[i].mean));
  }
  return fmt::format("{} {:<52}{:>9}{:>6}{:>10.2f}{:>9.3f}{:>9.3f}{}{:>10}{:>10}{:>8}\n",
                     fleet.on_front ? '*' : ' ', shown_name(plan, fleet.candidate),
                     fmt::format("{} ({})", fleet.replicas, fleet.needed), fleet.instances,
                     fleet.dollars_per_hour, fleet.dollars_per_million_tokens,
                     fleet.dollars_per_thousand_requests, targets,
                     human_ms(fleet.whole.p99_ttft_ms), human_ms(fleet.whole.p99_tpot_ms),
                     fleet.joules_per_token ? fmt::format("{:.2f}", *fleet.joules_per_token) : "-");
}

// One run of the fleet, as `run` makes it, may lie on either side of the means.
std::string spread_text(const FleetPlanFile& plan, const PlannedFleet& fleet) {
  const FleetMeasure& whole = fleet.whole;
  if (whole.runs < 2) return "";
  std::string text;
  for (std::size_t i = 0; i < plan.targets.size(); ++i) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", latency_title(plan.targets[i].metric),
                        human_ms(whole.targets[i].worst));
  }
  return fmt::format(
      "  latencies are means of runs with other seeds; the worst of {} of the first fleet: {}\n",
      whole.runs, text);
}

std::string met_table(const FleetPlanFile& plan, const FleetPlanResult& result) {
  std::vector<const PlannedFleet*> met;
  for (const PlannedFleet& fleet : result.fleets) {
    if (fleet.fate == PlanFate::met) met.push_back(&fleet);
  }
  if (met.empty()) return "\nno candidate meets the targets\n";
  std::ranges::stable_sort(met, {}, [](const PlannedFleet* fleet) {
    return std::pair(fleet->dollars_per_hour, fleet->whole.p99_ttft_ms);
  });
  std::string targets;
  for (const std::size_t i : other_targets(plan)) {
    targets += fmt::format("{:>14}", latency_title(plan.targets[i].metric));
  }
  std::string text = fmt::format("\n  {:<52}{:>9}{:>6}{:>10}{:>9}{:>9}{}{:>10}{:>10}{:>8}\n",
                                 "fleet", "replicas", "nodes", "$/h", "$/M out", "$/1k req",
                                 targets, "p99 TTFT", "p99 TPOT", "J/token");
  for (const PlannedFleet* fleet : met) text += met_row(plan, *fleet);
  return text +
         "  * no other fleet beats it on cost, p99 TTFT, p99 TPOT, energy and quality together; in "
         "brackets: replicas needed without spares\n" +
         spread_text(plan, *met.front());
}

std::string out_table(const FleetPlanFile& plan, const FleetPlanResult& result) {
  std::string text;
  for (const PlannedFleet& fleet : result.fleets) {
    if (fleet.fate == PlanFate::met) continue;
    text += fmt::format("  {:<51} {}: {}\n", shown_name(plan, fleet.candidate), name_of(fleet.fate),
                        visible_text(fleet.reason));
  }
  return text.empty() ? "" : "\nleft out\n" + text;
}

std::string resize_text(const FleetResize& resize) {
  if (!resize.replicas) return "more than max_replicas";
  return fmt::format("{} replicas, $ {:.2f}/h", *resize.replicas, resize.dollars_per_hour);
}

std::string sensitivity(const FleetPlanFile& plan, const FleetPlanResult& result) {
  std::string text;
  for (const std::size_t i : result.finalists) {
    const PlannedFleet& fleet = result.fleets[i];
    std::string line;
    for (const FleetResize& resize : fleet.growth) {
      line += fmt::format("{}traffic x {:g}: {}", line.empty() ? "" : "; ", resize.factor,
                          resize_text(resize));
    }
    if (fleet.slower) {
      line += fmt::format("{}steps {:.0f} % slower (expected error): {}", line.empty() ? "" : "; ",
                          100 * (fleet.slower->factor - 1), resize_text(*fleet.slower));
    }
    if (line.empty()) continue;
    text += fmt::format("  {}: {}\n", shown_name(plan, fleet.candidate), line);
  }
  return text.empty() ? "" : "\nif assumptions change (cheapest fleet of each model)\n" + text;
}

std::string chosen_text(const FleetPlanFile& plan, const FleetPlanResult& result,
                        const Catalog& catalog) {
  if (!result.chosen) return "";
  const PlannedFleet& fleet = result.fleets[*result.chosen];
  const PlanCandidate& candidate = fleet.candidate;
  std::string text = fmt::format(
      "\ncheapest    {} replicas of {}: {} x {}, $ {:.2f}/h; a rolling restart takes {:.0f} min\n",
      fleet.replicas, shown_name(plan, candidate), fleet.instances,
      visible_text(plan.instances[candidate.instance].name), fleet.dollars_per_hour,
      fleet.rolling_restart_s / 60);
  const std::string& model = plan.models[candidate.model].model;
  const ServeCommand command =
      serve_command(case_json(plan, candidate, {})["engine"], launched_model(model, catalog));
  if (!command.text.empty()) text += fmt::format("start       {}\n", command.text);
  return text;
}

}  // namespace

std::string plan_text(const FleetPlanFile& plan, const FleetPlanResult& result,
                      const Catalog& catalog, std::vector<std::string> assumed,
                      const std::string& files) {
  const RunVerdict verdict = plan_verdict(plan, result);
  std::string text =
      fmt::format("{}: {}\n", title_of(verdict.verdict), visible_text(verdict.reason));
  text += head(plan, result);
  text += met_table(plan, result);
  text += out_table(plan, result);
  text += sensitivity(plan, result);
  text += chosen_text(plan, result, catalog);
  text += "\n";
  for (std::string& assumption : plan_assumptions(plan, result)) {
    assumed.push_back(std::move(assumption));
  }
  for (const std::string& one : assumed) text += fmt::format("assumes     {}\n", one);
  text += fmt::format("simulated   {} runs\n", human_count(result.simulations));
  if (!files.empty()) text += fmt::format("files       {}\n", files);
  return text;
}

std::string plan_page(const nlohmann::ordered_json& answer, const std::string& version) {
  nlohmann::ordered_json data = {{"kind", "plan"}, {"answer", answer}};
  return html_page(std::move(data), answer["plan"].get<std::string>(), version);
}

}  // namespace headroom
