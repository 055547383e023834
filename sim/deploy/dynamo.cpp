// NVIDIA Dynamo: a DynamoGraphDeployment, as in
// https://github.com/ai-dynamo/dynamo/tree/main/examples/backends/vllm/deploy/v1beta1.

#include <fmt/format.h>

#include "sim/deploy/forms.hpp"
#include "sim/deploy/yaml_text.hpp"
#include "sim/intake/gpu_products.hpp"

namespace headroom {
namespace {

// Of the examples above; it holds a release of the engine of its own.
constexpr const char* kDynamoRelease = "1.3.1";

// Policies that Dynamo's frontend has (components/src/dynamo/frontend: DYN_ROUTER_MODE).
std::string router_mode(const std::string& policy) {
  if (policy == "weighted") return "kv";
  if (policy == "round_robin") return "round-robin";
  return policy == "random" ? "random" : "";
}

Json worker_of(const DeployedGroup& group) {
  const EngineDeployment& facts = group.facts();
  DeployedGroup own = group;
  own.program = {"python3", "-m", std::string(facts.dynamo_module)};
  own.image = fmt::format("{}:{}", facts.dynamo_image, kDynamoRelease);
  // The model is a flag there.
  if (!own.flags.front().starts_with("--")) own.flags.insert(own.flags.begin(), "--model");
  if (!group.role.empty()) {
    own.flags.emplace_back(facts.dynamo_role_flag);
    own.flags.push_back(group.role);
    if (group.role == "prefill") {
      own.flags.insert(own.flags.end(), facts.kv_transfer.begin(), facts.kv_transfer.end());
    }
  }
  Json container = container_of(own, own.flags, kEnginePort);
  container["name"] = "main";
  container.erase("ports");  // the frontend's is the only door
  Json pod = Json::object();
  if (!group.product.empty()) pod["nodeSelector"][std::string(kGpuProductLabel)] = group.product;
  pod["containers"] = Json::array({std::move(container)});
  Json pods = Json::object();
  const Json annotations = annotations_of(group);
  if (!annotations.empty()) pods["metadata"] = {{"annotations", annotations}};
  pods["spec"] = std::move(pod);
  return {{"name", group.name},
          {"type", group.role.empty() ? "worker" : group.role},
          {"replicas", group.replicas},
          {"podTemplate", std::move(pods)}};
}

Json frontend_of(const Deployment& deployment) {
  const EngineDeployment& facts = deployment.groups.front().facts();
  Json container = {{"name", "main"},
                    {"image", fmt::format("{}:{}", facts.dynamo_image, kDynamoRelease)}};
  const std::string mode = router_mode(deployment.router);
  if (!mode.empty()) {
    container["env"] = Json::array({{{"name", "DYN_ROUTER_MODE"}, {"value", mode}}});
  }
  Json frontend = {{"name", "Frontend"}, {"type", "frontend"}, {"replicas", 1}};
  frontend["podTemplate"]["spec"]["containers"] = Json::array({std::move(container)});
  return frontend;
}

}  // namespace

DeploymentFiles dynamo_files(const Deployment& deployment) {
  Json components = Json::array({Json()});
  for (const DeployedGroup& group : deployment.groups) {
    if (group.facts().dynamo_module.empty()) {
      refuse_form("dynamo", group,
                  fmt::format("how Dynamo starts {} is not known", group.engine->launch->title));
    }
    components.push_back(worker_of(group));
  }
  components.front() = frontend_of(deployment);
  const Json object = {{"apiVersion", "nvidia.com/v1beta1"},
                       {"kind", "DynamoGraphDeployment"},
                       {"metadata", {{"name", deployment.name}}},
                       {"spec", {{"components", std::move(components)}}}};
  return {{"dynamo.yaml", comment_text(deployment.head) + yaml_text(object)}};
}

}  // namespace headroom
