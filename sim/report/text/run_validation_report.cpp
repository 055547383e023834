#include "sim/report/text/run_validation_report.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "sim/report/json/json_text.hpp"
#include "sim/report/text/capacity_report.hpp"
#include "sim/report/text/memory_validation_report.hpp"
#include "sim/report/text/wrapped_text.hpp"

namespace headroom {
namespace {

using Json = nlohmann::ordered_json;
using TableRow = std::vector<std::string>;

constexpr std::array kSituations{Situation::self, Situation::other_run, Situation::other_model,
                                 Situation::uncalibrated, Situation::tables};
constexpr std::array<std::string_view, 5> kMetrics{"mean_ttft_ms", "median_ttft_ms", "mean_tpot_ms",
                                                   "mean_e2el_ms", "output_throughput"};
constexpr std::array<std::string_view, 5> kHeads{"TTFT mean", "TTFT median", "TPOT", "E2EL",
                                                 "tokens/s"};

const ScoredMetric* metric_of(const ScoredRun& run, std::string_view name) {
  for (const ScoredMetric& metric : run.metrics) {
    if (metric.name == name) return &metric;
  }
  return nullptr;
}

std::string runs_text(const RunValidation& validation, Situation situation) {
  std::vector<TableRow> table{{std::string(name_of(situation))}};
  for (const std::string_view head : kHeads) table.front().emplace_back(head);
  for (const ScoredRun& run : validation.runs) {
    if (run.situation != situation) continue;
    TableRow row{run.label};
    for (const std::string_view name : kMetrics) {
      const ScoredMetric* metric = metric_of(run, name);
      row.push_back(metric == nullptr ? "-" : error_text(metric->error()));
    }
    table.push_back(std::move(row));
  }
  return table.size() == 1 ? "" : table_text(table, kValidationWidth) + "\n";
}

std::string scores_text(const RunValidation& validation) {
  std::vector<TableRow> table{
      {"|error|", "metric", "runs", "mean", "median", "worst", "worst run"}};
  for (const Situation situation : kSituations) {
    for (std::size_t i = 0; i < kMetrics.size(); ++i) {
      const MetricScore score = score_of(validation, situation, kMetrics[i]);
      if (score.runs == 0) continue;
      table.push_back({std::string(name_of(situation)), std::string(kHeads[i]),
                       fmt::format("{}", score.runs), fmt::format("{:.1f} %", score.mean * 100),
                       fmt::format("{:.1f} %", score.median * 100), error_text(score.worst),
                       std::string(score.worst_run)});
    }
  }
  return table_text(table, kValidationWidth);
}

// Many rows of one file are left out for one reason.
std::string excluded_text(const RunValidation& validation) {
  std::map<std::string, std::int64_t> reasons;
  for (const ExcludedRun& run : validation.excluded) ++reasons[run.why];
  std::string out;
  for (const auto& [why, runs] : reasons) {
    out += wrapped("  -", fmt::format("{} runs: {}", runs, why), 4, kValidationWidth);
  }
  return out.empty() ? out : "\nNot scored:\n" + out;
}

}  // namespace

std::string error_text(double share) { return fmt::format("{:+.1f} %", share * 100); }

std::string run_validation_text(const RunValidation& validation) {
  std::string out = "Simulated against measured; error = simulated / measured - 1.\n\n";
  for (const Situation situation : kSituations) out += runs_text(validation, situation);
  return out + scores_text(validation) + excluded_text(validation);
}

std::string run_validation_json(const RunValidation& validation) {
  Json runs = Json::array();
  for (const ScoredRun& run : validation.runs) {
    Json metrics = Json::object();
    for (const ScoredMetric& metric : run.metrics) {
      metrics[std::string(metric.name)] = {{"measured", metric.measured},
                                           {"simulated", metric.simulated},
                                           {"error_share", metric.error()}};
    }
    runs.push_back({{"data_set", run.data_set},
                    {"label", run.label},
                    {"situation", name_of(run.situation)},
                    {"model", run.model},
                    {"calibration", run.calibration},
                    {"preemptions", run.preemptions},
                    {"metrics", metrics}});
  }
  Json scores = Json::array();
  for (const Situation situation : kSituations) {
    for (const std::string_view metric : kMetrics) {
      const MetricScore score = score_of(validation, situation, metric);
      if (score.runs == 0) continue;
      scores.push_back({{"situation", name_of(situation)},
                        {"metric", metric},
                        {"runs", score.runs},
                        {"mean_error_share", score.mean},
                        {"median_error_share", score.median},
                        {"worst_error_share", score.worst},
                        {"worst_run", score.worst_run}});
    }
  }
  Json excluded = Json::array();
  for (const ExcludedRun& run : validation.excluded) {
    excluded.push_back({{"data_set", run.data_set}, {"why", run.why}});
  }
  return json_text({{"runs", runs}, {"scores", scores}, {"excluded", excluded}});
}

}  // namespace headroom
