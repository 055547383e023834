// Values of the Helm charts of vLLM's production stack and of llm-d (sim/intake/chart_values.hpp
// names their sources).

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/deploy/forms.hpp"
#include "sim/deploy/yaml_text.hpp"
#include "sim/engines/flags.hpp"
#include "sim/intake/chart_values.hpp"
#include "sim/intake/deployed_part.hpp"
#include "sim/intake/gpu_products.hpp"
#include "sim/intake/scaling_trigger.hpp"
#include "sim/intake/values.hpp"

namespace headroom {
namespace {

// The chart's own example. Nobody has simulated what a host process needs beyond its limit.
constexpr const char* kUsualMemory = "16Gi";
// With what lies beside the weights in a repository.
constexpr double kStorageFactor = 1.5;
// Where a decode pod's engine listens behind llm-d's proxy (values.yaml: routing.proxy.targetPort).
constexpr std::int64_t kBehindProxy = 8200;

Json product_term(const std::string& product) {
  const Json expression = {
      {"key", kGpuProductLabel}, {"operator", "In"}, {"values", Json::array({product})}};
  return {{"matchExpressions", Json::array({expression})}};
}

// The flags without those that set the option at `pointer`, which a key of the chart sets.
std::vector<std::string> without_option(const DeployedGroup& group, std::vector<std::string> flags,
                                        std::string_view pointer) {
  for (const FlagRow& row : group.engine->launch->rows) {
    if (row.pointer != pointer || row.names.empty()) continue;
    const bool has_value = row.takes != Takes::nothing && row.takes != Takes::toggle;
    for (const std::string_view name : split(row.names, '|')) {
      const std::string negated = "--no-" + std::string(name.substr(name.find_first_not_of('-')));
      auto found = std::ranges::find_if(
          flags, [&](const std::string& flag) { return flag == name || flag == negated; });
      if (found == flags.end()) continue;
      flags.erase(found, found + (has_value ? 2 : 1));
    }
  }
  return flags;
}

// The chart turns prefix caching off where nothing is said, and gives shared memory to engines of
// several devices alone.
Json stack_section(const DeployedGroup& group) {
  Json section = Json::object();
  std::vector<std::string> flags(group.flags.begin() + 1, group.flags.end());  // behind the model
  if (group.enable_prefix_caching) {
    section["enablePrefixCaching"] = *group.enable_prefix_caching;
    flags = without_option(group, std::move(flags), "/engine/enable_prefix_caching");
  }
  if (group.tensor_parallel_size > 1) {
    section["tensorParallelSize"] = group.tensor_parallel_size;
    flags = without_option(group, std::move(flags), "/engine/tensor_parallel_size");
  }
  section["extraArgs"] = flags;
  return section;
}

Json stack_model(const DeployedGroup& group) {
  const std::size_t colon = group.image.rfind(':');
  Json model = {{"name", group.name},
                {"repository", group.image.substr(0, colon)},
                {"tag", group.image.substr(colon + 1)},
                {"modelURL", group.model},
                {"replicaCount", group.replicas},
                // vLLM: two cores and one for each device
                {"requestCPU", 2 + group.gpus},
                {"requestMemory", group.memory_limit_gib ? gibibytes(*group.memory_limit_gib)
                                                         : std::string(kUsualMemory)},
                {"requestGPU", group.gpus},
                {"pvcStorage", gibibytes(std::ceil(group.checkpoint_gib * kStorageFactor))}};
  if (group.memory_limit_gib) model["limitMemory"] = gibibytes(*group.memory_limit_gib);
  if (group.shared_memory_gib) model["shmSize"] = gibibytes(*group.shared_memory_gib);
  model[std::string(group.facts().chart_section)] = stack_section(group);
  for (const auto& [name, value] : group.environment) {
    model["env"].push_back({{"name", name}, {"value", value}});
  }
  if (!group.product.empty()) {
    model["nodeSelectorTerms"] = Json::array({product_term(group.product)});
  }
  const Json annotations = annotations_of(group);
  if (!annotations.empty()) model["annotations"] = annotations;
  return model;
}

// An object of its own: the schema of the chart's values takes no list of triggers (keda.triggers).
// The release has the deployment's name.
std::string stack_scaling(const Deployment& deployment, const DeployedGroup& group) {
  if (!group.scaling) return "";
  const std::string workload =
      fmt::format("{}-{}{}", deployment.name, group.name, group.facts().chart_workload);
  const auto trigger = scaling_trigger(*group.engine, *group.scaling, workload + "-.*");
  if (!trigger) return "";
  Json spec = {
      {"scaleTargetRef", {{"apiVersion", "apps/v1"}, {"kind", "Deployment"}, {"name", workload}}}};
  spec.update(*trigger);
  const Json object = {{"apiVersion", "keda.sh/v1alpha1"},
                       {"kind", "ScaledObject"},
                       {"metadata", {{"name", group.name}}},
                       {"spec", std::move(spec)}};
  return "---\n" + yaml_text(object);
}

Json http_probe(const DeployedGroup& group, std::int64_t port, std::int64_t failures) {
  return {{"httpGet", {{"path", group.facts().health_path}, {"port", port}}},
          {"periodSeconds", 10},
          {"failureThreshold", failures}};
}

Json modelservice_section(const DeployedGroup& group, bool behind_proxy) {
  const std::int64_t port = behind_proxy ? kBehindProxy : kEnginePort;
  std::vector<std::string> flags = listening_flags(group, "0.0.0.0", port);
  if (!group.role.empty()) {
    const auto& transfer = group.facts().kv_transfer;
    flags.insert(flags.end(), transfer.begin(), transfer.end());
  }
  Json container = container_of(group, flags, port);
  container["modelCommand"] = "custom";
  container["mountModelVolume"] = true;
  container["extraConfig"] = {{"startupProbe", http_probe(group, port, start_failures(group, 10))},
                              {"readinessProbe", http_probe(group, port, 3)},
                              {"livenessProbe", http_probe(group, port, 6)}};
  const double shared = group.shared_memory_gib.value_or(2);
  container["volumeMounts"] = Json::array({{{"name", "shm"}, {"mountPath", "/dev/shm"}}});
  Json section = {{"create", true},
                  {"replicas", group.replicas},
                  {"parallelism", {{"tensor", group.gpus}}},
                  {"containers", Json::array({std::move(container)})}};
  section["volumes"] = Json::array(
      {{{"name", "shm"}, {"emptyDir", {{"medium", "Memory"}, {"sizeLimit", gibibytes(shared)}}}}});
  if (!group.product.empty()) {
    section["acceleratorTypes"] = {{"labelKey", kGpuProductLabel},
                                   {"labelValues", Json::array({group.product})}};
  }
  return section;
}

// One installation of the chart: replicas that do both, or one group of each role.
std::string modelservice_values(const Deployment& deployment,
                                const std::vector<const DeployedGroup*>& groups) {
  const DeployedGroup& first = *groups.front();
  const bool apart = groups.size() == 2;
  Json values = {{"modelArtifacts",
                  {{"name", first.model},
                   {"uri", "hf://" + first.model},
                   {"size", gibibytes(std::ceil(first.checkpoint_gib * kStorageFactor))},
                   {"authSecretName", "hf-token-secret"},
                   {"labels", {{"llm-d.ai/model", first.name}}}}},
                 {"routing", {{"servicePort", kEnginePort}, {"proxy", {{"enabled", apart}}}}}};
  // The chart gives its labels to the pods.
  if (first.product.empty()) values["modelArtifacts"]["labels"][kDeviceKey] = first.device;
  for (const DeployedGroup* group : groups) {
    const std::string role = group->role.empty() ? "decode" : group->role;
    values[role] = modelservice_section(*group, apart && role == "decode");
  }
  if (!apart) values["prefill"] = {{"create", false}};
  return comment_text(deployment.head) + yaml_text(values);
}

// Prefill and decode belong into one installation.
std::vector<const DeployedGroup*> pair_of_roles(const Deployment& deployment) {
  std::vector<const DeployedGroup*> groups;
  for (const DeployedGroup& group : deployment.groups) {
    if (!group.role.empty()) groups.push_back(&group);
  }
  return groups;
}

}  // namespace

DeploymentFiles stack_files(const Deployment& deployment) {
  Json models = Json::array();
  std::int64_t failures = 0;
  for (const DeployedGroup& group : deployment.groups) {
    if (group.facts().chart_section.empty()) {
      refuse_form(
          "helm-values", group,
          fmt::format("the production stack does not start {}", group.engine->launch->title));
    }
    models.push_back(stack_model(group));
    failures = std::max(failures, start_failures(group, 10));
  }
  const DeployedGroup& first = deployment.groups.front();
  Json values = {{"servingEngineSpec",
                  {{"containerPort", kEnginePort},
                   {"startupProbe", http_probe(first, kEnginePort, failures)},
                   {"modelSpec", std::move(models)}}}};
  const std::string_view routing = stack_routing(deployment.router);
  if (!routing.empty()) values["routerSpec"] = {{"routingLogic", routing}};
  std::vector<std::string> head = deployment.head;
  head.push_back(fmt::format("helm install {} vllm/vllm-stack -f values.yaml", deployment.name));
  DeploymentFiles files{{"values.yaml", comment_text(head) + yaml_text(values)}};
  std::string scaling;
  for (const DeployedGroup& group : deployment.groups) scaling += stack_scaling(deployment, group);
  if (!scaling.empty()) files.push_back({"scaledobject.yaml", std::move(scaling)});
  return files;
}

DeploymentFiles modelservice_files(const Deployment& deployment) {
  for (const DeployedGroup& group : deployment.groups) {
    if (group.image.empty()) refuse_form("llm-d", group, "no image of this engine is known");
    if (!group.settings.is_null()) {
      refuse_form("llm-d", group, "the chart has no place for the engine's settings file");
    }
  }
  const std::vector<const DeployedGroup*> apart = pair_of_roles(deployment);
  if (!apart.empty() && (apart.size() != 2 || apart[0]->model != apart[1]->model ||
                         apart[0]->role == apart[1]->role)) {
    refuse_form("llm-d", *apart.front(),
                "the chart has one group that prefills and one that "
                "decodes, of one model");
  }
  DeploymentFiles files;
  if (!apart.empty()) files.push_back({"values.yaml", modelservice_values(deployment, apart)});
  for (const DeployedGroup& group : deployment.groups) {
    if (!group.role.empty()) continue;
    const std::string name =
        deployment.groups.size() == 1 ? "values.yaml" : "values-" + group.name + ".yaml";
    files.push_back({name, modelservice_values(deployment, {&group})});
  }
  return files;
}

}  // namespace headroom
