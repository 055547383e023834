#include "sim/report/page/twin_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/options/json.hpp"
#include "sim/report/json/ask_json.hpp"
#include "sim/report/json/json_text.hpp"
#include "sim/report/page/html_report.hpp"
#include "sim/report/text/ask_report.hpp"
#include "sim/report/text/calibrate_report.hpp"
#include "sim/report/text/run_validation_report.hpp"
#include "sim/report/text/terminal.hpp"

namespace headroom {
namespace {

constexpr std::size_t kMostPoints = 400;  // of a distribution
constexpr std::array<std::string_view, 5> kTwinMetrics{
    "mean_ttft_ms", "p90_ttft_ms", "mean_tpot_ms", "mean_e2el_ms", "output_throughput"};

double largest_error(const ScoredRun& run) {
  double largest = 0;
  for (const ScoredMetric& metric : run.metrics) {
    largest = std::max(largest, std::abs(metric.error()));
  }
  return largest;
}

const ScoredMetric* metric_in(const ScoredRun& run, std::string_view name) {
  const auto found = std::ranges::find(run.metrics, name, &ScoredMetric::name);
  return found == run.metrics.end() ? nullptr : &*found;
}

Json metrics_of_run(const TwinRun& run) {
  Json metrics = Json::object();
  for (const ScoredMetric& metric : run.after.metrics) {
    const ScoredMetric* before = metric_in(run.before, metric.name);
    metrics[std::string(metric.name)] = {
        {"measured", metric.measured},
        {"simulated", metric.simulated},
        {"simulated_before", before == nullptr ? Json(nullptr) : Json(before->simulated)}};
  }
  return metrics;
}

// Sorted, thinned to a few hundred.
Json sorted_ms(std::vector<double> values) {
  std::ranges::sort(values);
  Json points = Json::array();
  const std::size_t shown = std::min(values.size(), kMostPoints);
  for (std::size_t i = 0; i < shown; ++i) {
    const std::size_t at = shown < 2 ? 0 : i * (values.size() - 1) / (shown - 1);
    points.push_back(values[at]);
  }
  return points;
}

// TTFT, TPOT and E2EL of every finished request.
Json latencies_json(std::span<const RequestRecord> records, const ClientLatency& client) {
  std::array<std::vector<double>, 3> ms;
  for (const RequestRecord& record : records) {
    if (record.outcome != Outcome::finished) continue;
    const RequestLatencies latencies = latencies_of(record, {.client_latency = client});
    ms[0].push_back(static_cast<double>(latencies.ttft_ns) * kMsPerNs);
    if (latencies.tpot) ms[1].push_back(static_cast<double>(*latencies.tpot) * kMsPerTpotUnit);
    ms[2].push_back(static_cast<double>(latencies.e2el_ns) * kMsPerNs);
  }
  return {{"ttft_ms", sorted_ms(std::move(ms[0]))},
          {"tpot_ms", sorted_ms(std::move(ms[1]))},
          {"e2el_ms", sorted_ms(std::move(ms[2]))}};
}

Json run_json(const TwinRun& run) {
  const std::vector<RequestRecord> records = run.seen.records();
  return {{"name", run.after.data_set},
          {"label", run.after.label},
          {"fitted_on", run.is_fitted_on},
          {"requests", records.size()},
          {"duration_s", static_cast<double>(run.seen.duration_ns) / kNsPerSecondReal},
          {"metrics", metrics_of_run(run)},
          {"preemptions", run.after.preemptions},
          {"measured", latencies_json(records, {})},
          {"simulated", latencies_json(run.replay, run.client_latency)},
          {"notes", run.seen.notes()}};
}

Json constants_json(const CalibrationFit& fit) {
  Json rows = Json::array();
  for (const FittedConstant& constant : fit.constants) {
    rows.push_back({{"key", constant.field->key},
                    {"before", constant.before},
                    {"value", constant.value},
                    {"interval", constant.identified ? Json(constant.interval) : Json(nullptr)},
                    {"identified", constant.identified},
                    {"at_limit", constant.at_limit}});
  }
  return rows;
}

// How far the model may be trusted, by what it had not been fitted on.
std::string trust_text(const Twin& twin) {
  const ScoredRun& traffic = twin.runs.back().after;
  std::string worst;
  double error = 0;
  for (const ScoredMetric& metric : traffic.metrics) {
    if (std::abs(metric.error()) <= std::abs(error)) continue;
    error = metric.error();
    worst = metric.name;
  }
  return fmt::format(
      "Predicted without having seen your traffic, its figures are off by {:.1f} % at most ({}{}). "
      "Loads and lengths far from those that were measured are further off.",
      100 * largest_error(traffic), worst, error < 0 ? ", too low" : ", too high");
}

// Of one replica, at the fullest moment of the simulated traffic.
std::int64_t free_kv_tokens(const Twin& twin) {
  const RunResult& run = twin.answer.run;
  return run.pool_tokens - run.summary.memory.peak_held_tokens;
}

Json edge_json(const std::optional<AskEdge>& edge) {
  if (!edge) return nullptr;
  return {{"largest", optional_json(edge->largest)}, {"why", edge->why}};
}

// What is left before a target or the pool breaks.
Json left_json(const Twin& twin) {
  const AskAnswer& answer = twin.answer;
  return {{"load_kind", name_of(answer.load.kind)},
          {"load", answer.load.value},
          {"largest_load", edge_json(answer.largest_load)},
          {"largest_users", edge_json(answer.largest_users)},
          {"kv_tokens", free_kv_tokens(twin)},
          {"kv_pool_tokens", answer.run.pool_tokens}};
}

}  // namespace

std::string twin_page(const Twin& twin, const std::string& version) {
  const Observation& traffic = twin.runs.back().seen;
  Json runs = Json::array();
  for (const TwinRun& run : twin.runs) runs.push_back(run_json(run));
  const Json scenario = Json::parse(twin.scenario);
  Json data = {{"kind", "twin"},
               {"server",
                {{"url", traffic.url},
                 {"served_model", traffic.server.rule.model},
                 {"version", traffic.server.version},
                 {"engine", traffic.engine},
                 {"measured_utc", traffic.started_utc}}},
               {"runs", std::move(runs)},
               {"constants", constants_json(twin.fit)},
               {"started_from", twin.started_from},
               {"trust", trust_text(twin)},
               {"next", twin.next},
               {"left", left_json(twin)},
               {"ask", ask_json(twin.answer, scenario, version)},
               {"answer", ask_text(twin.answer, {{}, twin.next})}};
  return html_page(std::move(data), fmt::format("Twin of {}", traffic.server.rule.model), version);
}

std::string twin_text(const Twin& twin, const std::string& page) {
  std::string out = fmt::format("{:<22}{:>18}{:>12}{:>12}{:>10}\n", "run", "metric", "measured",
                                "predicted", "error");
  for (const TwinRun& run : twin.runs) {
    bool first = true;
    for (const std::string_view name : kTwinMetrics) {
      const ScoredMetric* metric = metric_in(run.after, name);
      if (metric == nullptr) continue;
      const std::string label =
          first ? run.after.data_set + (run.is_fitted_on ? " (fitted)" : "") : "";
      out += fmt::format("{:<22}{:>18}{:>12.4g}{:>12.4g}{:>10}\n", label, name, metric->measured,
                         metric->simulated, error_text(metric->error()));
      first = false;
    }
  }
  out += "\n" + calibrate_text(twin.fit);
  out += "\n" + trust_text(twin) + "\n\n" + ask_text(twin.answer, {{}, twin.next});
  out += fmt::format("KV tokens   {} of {} are free at the fullest moment of this traffic\n",
                     human_count(free_kv_tokens(twin)), human_count(twin.answer.run.pool_tokens));
  return out + fmt::format("page        {}\n", page);
}

}  // namespace headroom
