#include "sim/report/text/run_validation_report.hpp"

#include <fmt/format.h>

#include <array>
#include <functional>
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

constexpr std::size_t kListed = 60;  // runs of a situation; of more the scores alone are shown
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
  if (table.size() == 1) return "";
  if (table.size() > kListed) {
    return fmt::format("{}: {} runs, listed by --json\n\n", name_of(situation), table.size() - 1);
  }
  return table_text(table, kValidationWidth) + "\n";
}

std::string share_text(double share) { return fmt::format("{:.1f} %", share * 100); }

// Scores of the runs that `counts`, a row per metric that was measured in any of them.
void add_scores(const RunValidation& validation, const std::string& name,
                const std::function<bool(const ScoredRun&)>& counts, std::vector<TableRow>& table) {
  for (std::size_t i = 0; i < kMetrics.size(); ++i) {
    const MetricScore score = score_of(validation.runs, kMetrics[i], counts);
    if (score.runs == 0) continue;
    table.push_back({name, std::string(kHeads[i]), fmt::format("{}", score.runs),
                     share_text(score.mean), share_text(score.median),
                     error_text(score.median_error), error_text(score.worst),
                     score.with_range == 0
                         ? "-"
                         : fmt::format("{:.0f} %", 100.0 * static_cast<double>(score.in_range) /
                                                       static_cast<double>(score.with_range))});
  }
}

TableRow score_head(std::string_view first) {
  return {std::string(first), "metric", "runs", "mean", "median", "bias", "worst", "in range"};
}

std::string situation_scores_text(const RunValidation& validation) {
  std::vector<TableRow> by_situation{score_head("constants")};
  for (std::size_t i = 0; i < kSituationNames.size(); ++i) {
    const auto situation = static_cast<Situation>(i);
    add_scores(
        validation, std::string(name_of(situation)),
        [&](const ScoredRun& run) { return run.situation == situation; }, by_situation);
  }
  return table_text(by_situation, kValidationWidth);
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

std::string class_scores_text(const RunValidation& validation) {
  std::vector<TableRow> table{score_head("engine, device, models")};
  for (const RunClass& runs : classes_of(validation.runs)) {
    add_scores(
        validation, fmt::format("{} {} {}", runs.engine, runs.device, runs.model_class),
        [&](const ScoredRun& run) { return runs.has(run); }, table);
  }
  return table_text(table, kValidationWidth);
}

std::string run_validation_text(const RunValidation& validation) {
  std::string out = "Simulated against measured; error = simulated / measured - 1.\n\n";
  for (std::size_t i = 0; i < kSituationNames.size(); ++i) {
    out += runs_text(validation, static_cast<Situation>(i));
  }
  return out + class_scores_text(validation) + "\n" + situation_scores_text(validation) +
         "\nMean and median of the error's size; bias: the median error. In range: measured values "
         "within\nthe range that the result printed (expected_error).\n" +
         excluded_text(validation);
}

namespace {

Json metrics_json(const ScoredRun& run) {
  Json metrics = Json::object();
  for (const ScoredMetric& metric : run.metrics) {
    Json& json = metrics[std::string(metric.name)];
    json = {{"measured", metric.measured},
            {"simulated", metric.simulated},
            {"error_share", metric.error()}};
    if (metric.in_range) json["in_expected_range"] = *metric.in_range;
  }
  return metrics;
}

void add_scores_json(const RunValidation& validation, const Json& of,
                     const std::function<bool(const ScoredRun&)>& counts, Json& scores) {
  for (const std::string_view metric : kMetrics) {
    const MetricScore score = score_of(validation.runs, metric, counts);
    if (score.runs == 0) continue;
    Json json = of;
    json.update({{"metric", metric},
                 {"runs", score.runs},
                 {"mean_absolute_error_share", score.mean},
                 {"median_absolute_error_share", score.median},
                 {"mean_error_share", score.mean_error},
                 {"median_error_share", score.median_error},
                 {"worst_error_share", score.worst},
                 {"worst_run", score.worst_run},
                 {"runs_with_expected_range", score.with_range},
                 {"runs_in_expected_range", score.in_range}});
    scores.push_back(std::move(json));
  }
}

}  // namespace

std::string run_validation_json(const RunValidation& validation) {
  Json runs = Json::array();
  for (const ScoredRun& run : validation.runs) {
    runs.push_back({{"data_set", run.data_set},
                    {"label", run.label},
                    {"situation", name_of(run.situation)},
                    {"engine", run.engine},
                    {"device", run.device},
                    {"model", run.model},
                    {"model_class", run.model_class},
                    {"calibration", run.calibration},
                    {"preemptions", run.preemptions},
                    {"metrics", metrics_json(run)}});
  }
  Json classes = Json::array();
  for (const RunClass& of : classes_of(validation.runs)) {
    add_scores_json(
        validation, {{"engine", of.engine}, {"device", of.device}, {"model_class", of.model_class}},
        [&](const ScoredRun& run) { return of.has(run); }, classes);
  }
  Json scores = Json::array();
  for (std::size_t i = 0; i < kSituationNames.size(); ++i) {
    const auto situation = static_cast<Situation>(i);
    add_scores_json(
        validation, {{"situation", name_of(situation)}},
        [&](const ScoredRun& run) { return run.situation == situation; }, scores);
  }
  Json excluded = Json::array();
  for (const ExcludedRun& run : validation.excluded) {
    excluded.push_back({{"data_set", run.data_set}, {"why", run.why}});
  }
  return json_text(
      {{"runs", runs}, {"classes", classes}, {"scores", scores}, {"excluded", excluded}});
}

}  // namespace headroom
