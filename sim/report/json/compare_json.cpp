#include "sim/report/json/compare_json.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/report/json/json_text.hpp"
#include "sim/report/json/names.hpp"
#include "sim/report/json/verdict_json.hpp"
#include "sim/study/compare/compare_verdict.hpp"

namespace headroom {
namespace {

using Json = nlohmann::ordered_json;

Json request_json(const RequestPair& pair) {
  Json json = {{"index", pair.index},
               {"class", pair.class_id},
               {"prompt_tokens", pair.prompt_tokens},
               {"output_tokens", pair.output_tokens},
               {"outcome_a", name_of(pair.outcome_a)},
               {"outcome_b", name_of(pair.outcome_b)},
               {"preemptions_a", pair.preemptions_a},
               {"preemptions_b", pair.preemptions_b}};
  if (!pair.both_finished()) return json;
  json["e2el_a_ms"] = static_cast<double>(pair.e2el_a_ns) * 1e-6;
  json["e2el_b_ms"] = static_cast<double>(pair.e2el_b_ns) * 1e-6;
  for (std::size_t i = 0; i < kStayPhases; ++i) {
    json[fmt::format("{}_change_ms", name_of(static_cast<StayPhase>(i)))] =
        static_cast<double>(pair.change_ns[i]) * 1e-6;
  }
  json["cause"] = name_of(pair.cause());
  return json;
}

Json requests_json(const RequestPairs& pairs) {
  if (!pairs.why_not.empty()) return {{"paired", false}, {"why_not", pairs.why_not}};
  Json json = {{"paired", true},
               {"requests", pairs.requests},
               {"both_finished", pairs.both_finished},
               {"slower", pairs.worse},
               {"faster", pairs.better},
               {"only_a_finished", pairs.only_a_finished},
               {"only_b_finished", pairs.only_b_finished}};
  for (std::size_t i = 0; i < kStayPhases; ++i) {
    const std::string_view phase = name_of(static_cast<StayPhase>(i));
    json["phases"][std::string(phase)] = {{"mean_change_ms", pairs.mean_change_ms[i]},
                                          {"slower_because_of_it", pairs.worse_by_cause[i]}};
  }
  for (const LengthQuarter& quarter : pairs.quarters) {
    json["by_prompt_length"].push_back({{"shortest_tokens", quarter.shortest},
                                        {"longest_tokens", quarter.longest},
                                        {"requests", quarter.requests},
                                        {"mean_change_ms", quarter.mean_change_ms}});
  }
  json["worst"] = Json::array();
  for (const RequestPair& pair : pairs.worst) json["worst"].push_back(request_json(pair));
  return json;
}

Json side_json(const ComparedScenario& side, const ComparedRuns& runs) {
  Json json = {{"label", side.label}, {"scenario", side.scenario.name}};
  json.update(verdict_json(runs.verdict));
  json["runs"] = Json::array();
  for (const StoredRun& run : runs.rows) {
    Json metrics = Json::object();
    for (const auto& [name, value] : run.metrics) metrics[name] = value;
    Json ooms = Json::object();
    for (const StoredOom& oom : run.ooms) ooms[oom.kind] = oom.count;
    json["runs"].push_back({{"seed", run.seed},
                            {"stationary", run.stationary ? Json(*run.stationary) : Json(nullptr)},
                            {"digest", run.digest},
                            {"oom", std::move(ooms)},
                            {"metrics", std::move(metrics)}});
  }
  json["warnings"] = runs.first.warnings;
  return json;
}

}  // namespace

std::string compare_json(const Comparison& comparison, const ComparisonResult& result,
                         const std::string& version) {
  Json metrics = Json::object();
  for (const MetricPair& pair : result.metrics) {
    metrics[pair.name] = {{"pairs", pair.pairs},
                          {"mean_a", pair.mean_a},
                          {"mean_b", pair.mean_b},
                          {"difference", pair.difference},
                          {"half_width_95", pair.half_width},
                          {"certain", pair.is_certain()}};
  }
  const Json json = {{"headroom_version", version},
                     {"comparison", comparison.name},
                     {"replications", result.a.rows.size()},
                     {"has_no_draws", result.has_no_draws},
                     {"reason", compare_sentence(result)},
                     {"a", side_json(comparison.a, result.a)},
                     {"b", side_json(comparison.b, result.b)},
                     {"metrics", std::move(metrics)},
                     {"requests", requests_json(result.requests)}};
  return json_text(json);
}

}  // namespace headroom
