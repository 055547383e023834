#include "sim/report/json/ask_json.hpp"

namespace headroom {
namespace {

using Json = nlohmann::ordered_json;

Json ask_edge_json(const std::optional<AskEdge>& edge) {
  if (!edge) return nullptr;
  Json json = {{"largest", optional_json(edge->largest)},
               {"is_last_tried", edge->is_last},
               {"binds", name_of(edge->binds)}};
  if (!edge->why.empty()) json["why"] = edge->why;
  return json;
}

Json ask_latencies_json(const std::vector<AskLatency>& latencies) {
  Json json = Json::array();
  for (const AskLatency& latency : latencies) {
    json.push_back({{"metric", latency.metric},
                    {"limit_ms", optional_json(latency.limit_ms)},
                    {"simulated_ms", latency.ms},
                    {"low_ms", latency.low_ms},
                    {"high_ms", latency.high_ms},
                    {"kept", latency.is_kept()}});
  }
  return json;
}

Json ask_changes_json(const std::vector<AskChange>& changes) {
  Json json = Json::array();
  for (const AskChange& change : changes) {
    json.push_back({{"option", change.candidate.setting.path},
                    {"from", change.candidate.from},
                    {"to", change.candidate.setting.value},
                    {"cost", name_of(change.candidate.cost)},
                    {"cost_text", change.candidate.cost_text},
                    {"largest_load", optional_json(change.largest)},
                    {"holds", change.holds}});
  }
  return json;
}

}  // namespace

Json ask_json(const AskAnswer& answer, const Json& scenario, const std::string& version) {
  const RunResult& run = answer.run;
  Json json = {
      {"headroom_version", version},
      {"verdict", name_of(answer.verdict)},
      {"reason", answer.reason},
      {"model", run.resolved.model.id},
      {"device", run.resolved.device.id},
      {"devices", run.resolved.sharding.devices()},
      {"engine", run.resolved.engine->name},
      {"kv_tokens", run.pool_tokens},
      {"load",
       {{"kind", name_of(answer.load.kind)},
        {"option", answer.load.path},
        {"asked", answer.has_load ? Json(answer.load.value) : Json(nullptr)}}},
      {"latencies", ask_latencies_json(answer.latencies)},
      {"expected_error",
       {{"situation", run.expected_error.situation}, {"measured_runs", run.expected_error.runs}}},
      {"largest_load", ask_edge_json(answer.largest_load)},
      {"largest_users", ask_edge_json(answer.largest_users)},
      {"largest_rate", ask_edge_json(answer.largest_rate)},
      {"at_once", answer.at_once ? Json{{"requests", answer.at_once->requests},
                                        {"binds", name_of(answer.at_once->binds)}}
                                 : Json(nullptr)},
      {"largest_context", ask_edge_json(answer.largest_context)},
      {"changes", ask_changes_json(answer.changes)},
      {"hardware", ask_changes_json(answer.hardware)},
      {"changes_simulated", answer.tried},
      {"warnings", run.warnings},
      {"scenario", scenario}};
  return json;
}

}  // namespace headroom
