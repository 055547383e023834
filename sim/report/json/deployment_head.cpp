#include "sim/report/json/deployment_head.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sim/kernel/errors.hpp"
#include "sim/report/json/plan_json.hpp"

namespace headroom {
namespace {

// "TTFT 1.00 s, TPOT 50.0 ms"; empty: the scenario has no targets.
std::string targets_of_run(const SloSection& slo) {
  std::string text;
  const auto add = [&text](const char* title, const std::optional<double>& limit_ms) {
    if (!limit_ms) return;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", title, latency_text(*limit_ms));
  };
  add("TTFT", slo.ttft_ms);
  add("TPOT", slo.tpot_ms);
  add("E2EL", slo.e2el_ms);
  for (const LatencyLimit& one : latency_limits()) {
    add(latency_title(one.metric).c_str(), slo.*one.limit);
  }
  return text;
}

// "p99 TTFT 64 % below its target, p99 TPOT 44 %"; empty: no targets of all requests alike.
std::string headroom_of_run(const SloSection& slo, const ServingMetrics& metrics) {
  std::string text;
  const auto add = [&text](const char* title, const std::optional<double>& limit_ms,
                           double p99_ms) {
    if (!limit_ms || *limit_ms <= 0) return;
    const double below = 100 * (1 - p99_ms / *limit_ms);
    text += fmt::format("{}p99 {} {:.0f} % {} its target", text.empty() ? "" : ", ", title,
                        std::abs(below), below < 0 ? "above" : "below");
  };
  add("TTFT", slo.ttft_ms, metrics.p99_ttft_ms);
  add("TPOT", slo.tpot_ms, metrics.p99_tpot_ms);
  add("E2EL", slo.e2el_ms, metrics.p99_e2el_ms);
  return text;
}

std::string written_by(const std::string& version, const std::string& name) {
  return fmt::format("Written by Headroom {} for {}. Simulated, not measured:", version, name);
}

}  // namespace

std::vector<std::string> deployment_head(const RunResult& run, const std::string& version,
                                         const Catalog& catalog) {
  const Scenario& scenario = run.resolved.scenario;
  const RunVerdict verdict = judge_run(run, catalog);
  if (!run.started) {
    throw ConfigError(Complaint{.origin = scenario.file,
                                .problem = "the engine does not start, so there is nothing to "
                                           "deploy: " +
                                           verdict.reason});
  }
  const ServingMetrics& metrics = run.summary.metrics;
  std::vector<std::string> lines{
      written_by(version, scenario.name.empty() ? scenario.file : scenario.name)};
  lines.push_back(fmt::format("  {}: {}", title_of(verdict.verdict), verdict.reason));
  lines.push_back(fmt::format("  served {:.2f} requests/s, {:.0f} output tokens/s",
                              metrics.request_throughput, metrics.output_throughput));
  lines.push_back(fmt::format("  p99 TTFT {}, p99 TPOT {}", latency_text(metrics.p99_ttft_ms),
                              latency_text(metrics.p99_tpot_ms)));
  const std::string targets = targets_of_run(scenario.slo);
  if (!targets.empty() && metrics.request_goodput && metrics.request_throughput > 0) {
    lines.push_back(fmt::format("  targets {}: kept by {:.1f} % of the requests", targets,
                                100 * *metrics.request_goodput / metrics.request_throughput));
  }
  const std::string headroom = headroom_of_run(scenario.slo, metrics);
  if (!headroom.empty()) lines.push_back(fmt::format("  headroom: {}", headroom));
  return lines;
}

std::vector<std::string> deployment_head(const FleetPlanFile& plan, const FleetPlanResult& result,
                                         const std::string& version) {
  const PlannedFleet& fleet = result.fleets[*result.chosen];
  const FleetMeasure& whole = fleet.whole;
  std::vector<std::string> lines{written_by(version, plan.name)};
  lines.push_back(fmt::format("  {}", plan_verdict(plan, result).reason));
  lines.push_back(fmt::format("  traffic {:.2f} requests/s, {:.0f} output tokens/s",
                              whole.requests_per_s, whole.output_tokens_per_s));
  for (std::size_t i = 0; i < whole.targets.size() && i < plan.targets.size(); ++i) {
    lines.push_back(fmt::format("  {} {:.1f}, at most {:g} allowed", plan.targets[i].metric,
                                whole.targets[i].mean, plan.targets[i].limit_ms));
  }
  lines.push_back(fmt::format("  headroom: {} of {} replicas may be gone",
                              fleet.replicas - fleet.needed, fleet.replicas));
  for (const FleetResize& resize : fleet.growth) {
    lines.push_back(
        resize.replicas
            ? fmt::format("  traffic x {:g} takes {} replicas", resize.factor, *resize.replicas)
            : fmt::format("  traffic x {:g} takes more than max_replicas", resize.factor));
  }
  return lines;
}

}  // namespace headroom
