#include "sim/report/json/energy_json.hpp"

namespace headroom {
namespace {

using Json = nlohmann::ordered_json;

Json draw_json(const Resolved& resolved) {
  const auto draw = power_draw(resolved.device, resolved.scenario.device.power);
  if (!draw) return nullptr;
  return {{"idle_w", draw->idle_w},
          {"memory_bound_w", draw->memory_bound_w},
          {"compute_bound_w", draw->compute_bound_w},
          {"source", draw->source}};
}

}  // namespace

Json energy_json(const std::optional<EnergyUse>& use, TokenCount tokens) {
  if (!use) return nullptr;
  const Json per_token =
      tokens > 0 ? Json(use->joules / static_cast<double>(tokens)) : Json(nullptr);
  return {{"joules", use->joules},
          {"joules_per_output_token", per_token},
          {"mean_w", use->mean_w()},
          {"devices", use->devices}};
}

Json run_energy_json(const RunResult& result) {
  const auto use = energy_of(result);
  if (!use) return nullptr;
  Json json = energy_json(use, result.summary.metrics.total_output_tokens);
  json["assumption"] =
      "devices only, without hosts and cooling; a step draws between the memory-bound and the "
      "compute-bound figure, depending on its cost terms, and the idle figure while it waits";
  if (!result.is_fleet) {
    json["power"] = draw_json(result.resolved);
  } else {
    Json power = Json::object();
    for (const FleetGroup& group : result.groups) power[group.name] = draw_json(group.resolved);
    json["power"] = std::move(power);
  }
  return json;
}

}  // namespace headroom
