#include "sim/study/plan/plan_candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hardware/checkpoint_names.hpp"
#include "scheduler/routing/routers.hpp"
#include "sim/scenario/options.hpp"
#include "sim/study/plan/plan_traffic.hpp"

namespace headroom {
namespace {

// Named as the user wrote it, before any candidate is tried.
void check_names(const FleetPlanFile& plan, const Catalog& catalog) {
  const auto check = [&](const std::string& place, const auto& look_up) {
    try {
      look_up();
    } catch (const ConfigError& error) {
      throw error.at(origin_of({plan.file, {}, plan.origins}, place), place);
    }
  };
  for (std::size_t i = 0; i < plan.models.size(); ++i) {
    const std::string& name = plan.models[i].model;
    if (name.find('/') != std::string::npos || name.ends_with(".json")) continue;  // maybe a path
    if (find_checkpoint(catalog, name)) continue;
    check(fmt::format("/models/{}", i), [&] { static_cast<void>(catalog.model(name)); });
  }
  for (std::size_t i = 0; i < plan.instances.size(); ++i) {
    check(fmt::format("/instances/{}/device", i),
          [&] { static_cast<void>(catalog.device(plan.instances[i].device)); });
  }
  for (std::size_t i = 0; i < plan.environments.size(); ++i) {
    const Json& name = plan.environments[i]["name"];
    if (!name.is_string()) continue;  // the scenario's reader says what it must be
    check(fmt::format("/environments/{}", i),
          [&] { static_cast<void>(catalog.environment(name.get<std::string>())); });
  }
}

std::string text_of(const Json& section, const char* key) {
  return section.contains(key) && section[key].is_string() ? section[key].get<std::string>() : "";
}

// What a router that keeps promises is to keep.
Json promises(const FleetPlanFile& plan) {
  Json slo = Json::object();
  if (const auto ttft = tightest_limit(plan, "_ttft_")) slo["ttft_ms"] = *ttft;
  if (const auto tpot = tightest_limit(plan, "_tpot_")) slo["tpot_ms"] = *tpot;
  return slo;
}

}  // namespace

std::vector<PlanCandidate> plan_candidates(const FleetPlanFile& plan, const Catalog& catalog) {
  check_names(plan, catalog);
  std::vector<PlanCandidate> all;
  for (std::size_t model = 0; model < plan.models.size(); ++model) {
    for (std::size_t instance = 0; instance < plan.instances.size(); ++instance) {
      for (std::size_t engine = 0; engine < plan.engines.size(); ++engine) {
        for (std::size_t environment = 0; environment < plan.environments.size(); ++environment) {
          for (const std::int64_t size : plan.tensor_parallel_sizes) {
            if (size > plan.instances[instance].gpus) continue;
            all.push_back({model, instance, engine, environment, size});
          }
        }
      }
    }
  }
  if (all.empty()) {
    throw ConfigError(Complaint{.origin = plan.file,
                                .pointer = "/tensor_parallel_size",
                                .problem = "no instance has this many gpus"});
  }
  return all;
}

std::string candidate_name(const FleetPlanFile& plan, const PlanCandidate& candidate) {
  const PlanInstance& instance = plan.instances[candidate.instance];
  const Json& engine = plan.engines[candidate.engine];
  std::string name = fmt::format("{} on {} x {}", plan.models[candidate.model].model,
                                 candidate.tensor_parallel, instance.device);
  if (instance.name != instance.device) name += fmt::format(" ({})", instance.name);
  const std::string version = text_of(engine, "version");
  name += fmt::format(", {}{}{}", text_of(engine, "name"), version.empty() ? "" : " ", version);
  if (candidate.max_model_len > 0) name += fmt::format(", {} tokens", candidate.max_model_len);
  if (plan.environments.size() > 1) {
    name += fmt::format(", {}", text_of(plan.environments[candidate.environment], "name"));
  }
  return name;
}

std::int64_t replicas_per_instance(const FleetPlanFile& plan, const PlanCandidate& candidate) {
  return plan.instances[candidate.instance].gpus / candidate.tensor_parallel;
}

std::int64_t instances_for(const FleetPlanFile& plan, const PlanCandidate& candidate,
                           std::int64_t replicas) {
  const std::int64_t each = replicas_per_instance(plan, candidate);
  return (replicas + each - 1) / each;
}

std::int64_t affordable_replicas(const FleetPlanFile& plan, const PlanCandidate& candidate) {
  // Of a quotient that is whole but for its rounding, the whole.
  const double instances = std::floor(
      *plan.max_cost_per_hour / plan.instances[candidate.instance].price_per_hour * (1 + 1e-12));
  return static_cast<std::int64_t>(std::min(instances, 1e9)) *
         replicas_per_instance(plan, candidate);
}

double cost_per_hour(const FleetPlanFile& plan, const PlanCandidate& candidate,
                     std::int64_t replicas) {
  return plan.instances[candidate.instance].price_per_hour *
         static_cast<double>(instances_for(plan, candidate, replicas));
}

Json case_json(const FleetPlanFile& plan, const PlanCandidate& candidate, const PlanCase& one) {
  const PlanModel& model = plan.models[candidate.model];
  const PlanInstance& instance = plan.instances[candidate.instance];
  Json json = {{"name", plan.name},
               {"description", fmt::format("{} replicas of {}, planned for {}", one.replicas,
                                           candidate_name(plan, candidate), plan.name)},
               {"seed", plan.seed + one.replication},
               {"model", model.model}};
  json["device"] = {{"name", instance.device}};
  const std::int64_t domain = instance.nvlink_domain.value_or(instance.gpus);
  if (candidate.tensor_parallel > domain) {
    json["device"]["per_node"] = domain;
    if (instance.nic_gb_per_s) json["device"]["nic_gb_per_s"] = *instance.nic_gb_per_s;
  }
  json["environment"] = plan.environments[candidate.environment];
  json["engine"] = plan.engines[candidate.engine];
  if (candidate.tensor_parallel > 1) {
    json["engine"]["tensor_parallel_size"] = candidate.tensor_parallel;
  }
  if (candidate.max_model_len > 0) json["engine"]["max_model_len"] = candidate.max_model_len;
  if (one.slower > 0) {
    json["cost"] = {{"clock_share", 1 / (1 + one.slower)},
                    {"bandwidth_share", 1 / (1 + one.slower)}};
  }
  const auto each = static_cast<double>(replicas_per_instance(plan, candidate));
  json["fleet"] = {{"replicas", one.replicas}, {"cost_per_hour", instance.price_per_hour / each}};
  json["fleet"]["router"] = {{"policy", plan.router}};
  if (router_row(plan.router).keeps_promises) json["slo"] = promises(plan);
  json["workload"] = plan.workload;
  convert_tokens(json["workload"], model, plan.file);
  scale_workload(json["workload"], one.scale, one.replication, one.span_s);
  json["output"] = {{"timeline_interval_s", 60}};
  return json;
}

Scenario case_scenario(const FleetPlanFile& plan, const PlanCandidate& candidate,
                       const PlanCase& one) {
  JsonDocument document{fmt::format("{} ({})", plan.file, candidate_name(plan, candidate)),
                        case_json(plan, candidate, one), plan.origins};
  Scenario scenario = parse_scenario(document);
  scenario.directory = plan.directory;
  return scenario;
}

}  // namespace headroom
