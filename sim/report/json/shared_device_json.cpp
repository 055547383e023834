#include "sim/report/json/shared_device_json.hpp"

#include <nlohmann/json.hpp>

#include "sim/report/json/json_text.hpp"

namespace headroom {
namespace {

nlohmann::ordered_json start_json(const SharedStart& start) {
  const Resolved& r = start.system.resolved;
  const MemoryBudget& budget = start.system.budget;
  nlohmann::ordered_json json = {{"service", start.name},
                                 {"model", r.model.id},
                                 {"engine", r.engine->name},
                                 {"engine_version", r.scenario.engine.version.value_or("")},
                                 {"device", r.device.id},
                                 {"device_ids", start.devices},
                                 {"verdict", name_of(start.verdict)},
                                 {"reason", start_reason(r, budget)},
                                 {"capacity_bytes", budget.capacity_bytes},
                                 {"used_by_others_bytes", start.taken_bytes},
                                 {"held_bytes", start.held_bytes},
                                 {"kv_pool_bytes", budget.kv_pool_bytes},
                                 {"kv_tokens", budget.failure ? 0 : pool_tokens(r, budget)},
                                 {"notes", budget.notes}};
  if (budget.failure) {
    json["failure"] = {{"stage", name_of(budget.failure->stage)},
                       {"message", budget.failure->message},
                       {"wanted_bytes", budget.failure->wanted_bytes},
                       {"free_bytes", budget.failure->free_bytes}};
  }
  return json;
}

}  // namespace

std::string shared_json(const SharedStarts& together, const std::vector<std::string>& notes) {
  nlohmann::ordered_json json = {{"all_start", !together.failed}};
  json["services"] = nlohmann::ordered_json::array();
  for (const SharedStart& start : together.starts) json["services"].push_back(start_json(start));
  json["changes"] = nlohmann::ordered_json::array();
  for (const SharedChange& change : together.changes) {
    json["changes"].push_back({{"service", change.name},
                               {"option", change.fix.option},
                               {"from", change.fix.from},
                               {"to", change.fix.to},
                               {"cost", name_of(change.fix.cost)},
                               {"cost_text", change.fix.cost_text},
                               {"kv_tokens", change.fix.kv_tokens},
                               {"stops", change.stops}});
  }
  json["notes"] = notes;
  return json_text(json);
}

}  // namespace headroom
