#include <fmt/format.h>

#include <algorithm>

#include "sim/intake/serve_command.hpp"
#include "sim/metrics/thin_percentiles.hpp"
#include "sim/report/json/fleet_figures.hpp"
#include "sim/report/json/json_text.hpp"
#include "sim/report/json/plan_json.hpp"

namespace headroom {
namespace {

using Json = nlohmann::ordered_json;

Json model_json(const PlanModel& model, const PlanTraffic& traffic) {
  return {{"model", model.model},
          {"quality", optional_json(model.quality)},
          {"input_tokens_factor", model.input_tokens_factor},
          {"output_tokens_factor", model.output_tokens_factor},
          {"thinking_tokens_factor", model.thinking_tokens_factor},
          {"mean_prompt_tokens", traffic.mean_prompt},
          {"mean_output_tokens", traffic.mean_output},
          {"longest_request_tokens", traffic.longest}};
}

Json instance_json(const PlanInstance& instance) {
  return {{"name", instance.name},
          {"device", instance.device},
          {"gpus", instance.gpus},
          {"price_per_hour", instance.price_per_hour},
          {"price_source", instance.price_source}};
}

Json bounds_json(const PlanBounds& bounds) {
  return {{"kv_tokens", bounds.pool_tokens},
          {"least_ttft_ms", optional_json(bounds.least_ttft_ms)},
          {"least_tpot_ms", bounds.least_tpot_ms},
          {"least_replicas", bounds.least_replicas},
          {"balance_rows", bounds.balance.rows},
          {"balance_step_ms", bounds.balance.step_ms},
          {"balance_requests_per_s", bounds.balance.requests_per_s},
          {"balance_limited_by", bounds.balance.limited_by}};
}

Json measure_json(const FleetPlanFile& plan, const FleetMeasure& measure) {
  Json targets = Json::object();
  for (std::size_t i = 0; i < measure.targets.size(); ++i) {
    const PlanVerdict& verdict = measure.targets[i];
    targets[plan.targets[i].metric] = {{"mean", verdict.mean},
                                       {"upper_95", verdict.upper},
                                       {"worst", verdict.worst},
                                       {"limit", plan.targets[i].limit_ms},
                                       {"kept", verdict.verdict == Verdict::passes}};
  }
  return {{"replicas", measure.replicas},
          {"replications", measure.runs},
          {"kept", measure.kept()},
          {"targets", std::move(targets)},
          {"p99_ttft_ms", measure.p99_ttft_ms},
          {"p99_tpot_ms", measure.p99_tpot_ms},
          {"request_throughput", measure.requests_per_s},
          {"input_throughput", measure.input_tokens_per_s},
          {"output_throughput", measure.output_tokens_per_s},
          {"busy_share", measure.busy_share},
          {"mean_w", optional_json(measure.mean_w)}};
}

Json resize_json(const FleetResize& resize) {
  Json json = {{"factor", resize.factor}, {"replicas", optional_json(resize.replicas)}};
  json["cost_per_hour"] = resize.replicas ? Json(resize.dollars_per_hour) : Json(nullptr);
  return json;
}

void add_sizes(const FleetPlanFile& plan, const PlannedFleet& fleet, Json& json) {
  json["replicas"] = fleet.replicas;
  json["needed_replicas"] = fleet.needed;
  json["instances"] = fleet.instances;
  json["cost_per_hour"] = fleet.dollars_per_hour;
  json["cost_per_million_output_tokens"] = fleet.dollars_per_million_tokens;
  json["cost_per_thousand_requests"] = fleet.dollars_per_thousand_requests;
  json["joules_per_output_token"] = optional_json(fleet.joules_per_token);
  json["power_assumed"] = fleet.whole.power_assumed;
  json["restart_s"] = fleet.bounds.restart_s;
  json["rolling_restart_s"] = fleet.rolling_restart_s;
  json["on_front"] = fleet.on_front;
  json["as_planned"] = measure_json(plan, fleet.whole);
  json["without_spares"] = measure_json(plan, fleet.without_spares);
  Json error = {{"situation", fleet.expected_error.situation}};
  for (const ErrorRange& range : fleet.expected_error.ranges) {
    error[fmt::format("{}_percent", range.metric)] = {100 * range.low, 100 * range.high};
  }
  json["expected_error"] = std::move(error);
  if (!fleet.growth.empty()) {
    json["growth"] = Json::array();
    for (const FleetResize& resize : fleet.growth) json["growth"].push_back(resize_json(resize));
  }
  if (fleet.slower) json["slower_steps"] = resize_json(*fleet.slower);
}

Json fleet_entry(const FleetPlanFile& plan, const PlannedFleet& fleet, const Catalog& catalog) {
  const PlanCandidate& candidate = fleet.candidate;
  const PlanInstance& instance = plan.instances[candidate.instance];
  const Json section = case_json(plan, candidate, {})["engine"];
  Json json = {{"name", candidate_name(plan, candidate)},
               {"fate", name_of(fleet.fate)},
               {"reason", fleet.reason},
               {"model", plan.models[candidate.model].model},
               {"quality", optional_json(plan.models[candidate.model].quality)},
               {"instance", instance.name},
               {"device", instance.device},
               {"engine", section.value("name", "")},
               {"environment", plan.environments[candidate.environment].value("name", "")},
               {"tensor_parallel_size", candidate.tensor_parallel},
               {"replicas_per_instance", replicas_per_instance(plan, candidate)},
               {"bounds", bounds_json(fleet.bounds)},
               {"simulations", fleet.simulations}};
  if (fleet.replicas == 0) return json;
  add_sizes(plan, fleet, json);
  const ServeCommand command =
      serve_command(section, launched_model(plan.models[candidate.model].model, catalog));
  json["command"] = command.text;
  json["not_a_flag"] = command.not_a_flag;
  return json;
}

// What the slow end of the expected error does to the chosen fleet; empty: nothing.
std::string if_slower(const PlannedFleet& fleet) {
  const auto& slower = fleet.slower;
  if (!slower || slower->replicas == fleet.replicas) return "";
  const std::string steps =
      fmt::format("if steps are {:.0f} % slower (expected error), ", 100 * (slower->factor - 1));
  if (!slower->replicas) return steps + "max_replicas are not enough";
  return fmt::format("{}it takes {} replicas for $ {:.2f}/h", steps, *slower->replicas,
                     slower->dollars_per_hour);
}

}  // namespace

RunVerdict plan_verdict(const FleetPlanFile& plan, const FleetPlanResult& result) {
  if (!result.chosen) {
    return {HoldVerdict::does_not_hold,
            fmt::format("none of {} candidates keeps the targets", result.fleets.size()),
            Binds::nothing};
  }
  const PlannedFleet& fleet = result.fleets[*result.chosen];
  const std::string kept =
      fmt::format("{} replicas of {} keep the targets for $ {:.2f}/h", fleet.replicas,
                  candidate_name(plan, fleet.candidate), fleet.dollars_per_hour);
  const std::string slower = if_slower(fleet);
  if (slower.empty()) return {HoldVerdict::holds, kept, Binds::nothing};
  return {HoldVerdict::tight, kept + "; " + slower, Binds::nothing};
}

std::vector<std::string> plan_assumptions(const FleetPlanFile& plan,
                                          const FleetPlanResult& result) {
  std::vector<std::string> all;
  for (const PlanModel& model : plan.models) {
    const bool given = model.input_tokens_factor != 1 || model.output_tokens_factor != 1 ||
                       model.thinking_tokens_factor != 1;
    all.push_back(fmt::format(
        "{}: {:g} input, {:g} output and {:g} thinking tokens per token of the traffic ({})",
        model.model, model.input_tokens_factor, model.output_tokens_factor,
        model.thinking_tokens_factor, given ? "the plan" : "assumed"));
  }
  for (const PlanInstance& instance : plan.instances) {
    all.push_back(fmt::format("{}: $ {:g} an hour ({})", instance.name, instance.price_per_hour,
                              instance.price_source.empty() ? "the plan" : instance.price_source));
  }
  const std::int64_t requests = result.traffic.front().requests;
  if (const auto thin = thin_percentiles(requests); !thin.empty()) {
    all.push_back(fmt::format(
        "a run has only {} requests, too few for {} (p99 needs {}): use more of the traffic",
        requests, thin, kValuesForP99));
  }
  bool assumed = false;
  for (const PlannedFleet& fleet : result.fleets) assumed |= fleet.whole.power_assumed;
  if (assumed) {
    all.push_back(fmt::format(
        "power of devices without measurements: {:g} of the TDP when idle, {:g} in memory-bound "
        "steps, {:g} in compute-bound steps; hosts and cooling are not counted",
        kIdleShareOfTdp, kMemoryShareOfTdp, kComputeShareOfTdp));
  }
  std::vector<std::string> unmeasured;
  for (const PlannedFleet& fleet : result.fleets) {
    const std::string& device = plan.instances[fleet.candidate.instance].device;
    if (fleet.replicas == 0 || fleet.expected_error.situation != "uncalibrated") continue;
    if (std::ranges::find(unmeasured, device) == unmeasured.end()) unmeasured.push_back(device);
  }
  if (!unmeasured.empty()) {
    all.push_back(fmt::format(
        "step times on {} have no measured constants of their own for some or all models",
        fmt::join(unmeasured, ", ")));
  }
  return all;
}

Json plan_json(const FleetPlanFile& plan, const FleetPlanResult& result, const Catalog& catalog,
               const std::string& version, const Json& scenario) {
  Json targets = Json::object();
  for (const PlanTarget& target : plan.targets) targets[target.metric] = target.limit_ms;
  Json models = Json::array();
  for (std::size_t i = 0; i < plan.models.size(); ++i) {
    models.push_back(model_json(plan.models[i], result.traffic[i]));
  }
  Json instances = Json::array();
  for (const PlanInstance& instance : plan.instances) instances.push_back(instance_json(instance));
  Json fleets = Json::array();
  for (const PlannedFleet& fleet : result.fleets) {
    fleets.push_back(fleet_entry(plan, fleet, catalog));
  }
  const PlanTraffic& traffic = result.traffic.front();
  const RunVerdict verdict = plan_verdict(plan, result);
  return {{"headroom_version", version},
          {"plan", plan.name},
          {"verdict", name_of(verdict.verdict)},
          {"reason", verdict.reason},
          {"description", plan.description},
          {"traffic",
           {{"requests", traffic.requests},
            {"span_s", traffic.span_s},
            {"scale", plan.scale},
            {"request_rate", traffic.rate()}}},
          {"slo", std::move(targets)},
          {"failures", plan.failures},
          {"rolling_restart", plan.rolling_restart},
          {"replications", plan.replications},
          {"router", plan.router},
          {"models", std::move(models)},
          {"instances", std::move(instances)},
          {"chosen", optional_json(result.chosen)},
          {"finalists", result.finalists},
          {"fleets", std::move(fleets)},
          {"assumptions", plan_assumptions(plan, result)},
          {"simulations", result.simulations},
          {"scenario", scenario}};
}

}  // namespace headroom
