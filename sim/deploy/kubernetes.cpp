// Kubernetes: a Deployment and a Service per group; where replicas come and go, a PodMonitor of the
// Prometheus operator and a ScaledObject of KEDA. The engines' probes and mounts follow
// https://docs.vllm.ai/en/latest/deployment/k8s.html.

#include <fmt/format.h>

#include "sim/deploy/forms.hpp"
#include "sim/deploy/yaml_text.hpp"
#include "sim/intake/deployed_part.hpp"
#include "sim/intake/gpu_products.hpp"
#include "sim/intake/scaling_trigger.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

constexpr const char* kSettingsFolder = "/etc/engine";
constexpr const char* kCacheFolder = "/cache";  // of downloaded weights
constexpr double kUsualSharedMemoryGib = 2;     // of the page above
constexpr const char* kPartOf = "app.kubernetes.io/part-of";
constexpr const char* kAppName = "app.kubernetes.io/name";

Json probe(const DeployedGroup& group, std::int64_t period_s, std::int64_t failures) {
  return {{"httpGet", {{"path", group.facts().health_path}, {"port", "http"}}},
          {"periodSeconds", period_s},
          {"failureThreshold", failures}};
}

Json labels_of(const Deployment& deployment, const DeployedGroup& group) {
  return {{kAppName, group.name}, {kPartOf, deployment.name}};
}

Json selector_of(const DeployedGroup& group) { return {{kAppName, group.name}}; }

std::string settings_map(const DeployedGroup& group) { return group.name + "-settings"; }

Json volumes_of(const DeployedGroup& group) {
  const double shared = group.shared_memory_gib.value_or(kUsualSharedMemoryGib);
  Json volumes = Json::array(
      {{{"name", "shm"}, {"emptyDir", {{"medium", "Memory"}, {"sizeLimit", gibibytes(shared)}}}},
       {{"name", "cache"}, {"emptyDir", Json::object()}}});
  if (!group.settings.is_null()) {
    volumes.push_back({{"name", "settings"}, {"configMap", {{"name", settings_map(group)}}}});
  }
  return volumes;
}

Json pod_of(const DeployedGroup& group) {
  std::vector<std::string> flags = listening_flags(group, "0.0.0.0", kEnginePort);
  if (!group.settings.is_null()) {
    flags.emplace_back(group.facts().settings_flag);
    flags.push_back(fmt::format("{}/{}", kSettingsFolder, kSettingsName));
  }
  Json container = container_of(group, flags, kEnginePort);
  container["env"].push_back({{"name", "HF_HOME"}, {"value", kCacheFolder}});
  container["startupProbe"] = probe(group, 10, start_failures(group, 10));
  container["readinessProbe"] = probe(group, 5, 3);
  container["livenessProbe"] = probe(group, 10, 6);
  container["volumeMounts"] = Json::array({{{"name", "shm"}, {"mountPath", "/dev/shm"}},
                                           {{"name", "cache"}, {"mountPath", kCacheFolder}}});
  if (!group.settings.is_null()) {
    container["volumeMounts"].push_back({{"name", "settings"}, {"mountPath", kSettingsFolder}});
  }
  Json pod = Json::object();
  if (!group.product.empty()) pod["nodeSelector"][std::string(kGpuProductLabel)] = group.product;
  pod["containers"] = Json::array({std::move(container)});
  pod["volumes"] = volumes_of(group);
  return pod;
}

// A device is taken by one pod, so a new one cannot start beside the old one.
Json workload_of(const Deployment& deployment, const DeployedGroup& group) {
  Json metadata = {{"labels", labels_of(deployment, group)}};
  const Json annotations = annotations_of(group);
  if (!annotations.empty()) metadata["annotations"] = annotations;
  Json spec = {{"replicas", group.replicas}, {"selector", {{"matchLabels", selector_of(group)}}}};
  spec["strategy"] = {{"type", "RollingUpdate"},
                      {"rollingUpdate", {{"maxSurge", 0}, {"maxUnavailable", 1}}}};
  spec["template"] = {{"metadata", std::move(metadata)}, {"spec", pod_of(group)}};
  return {{"apiVersion", "apps/v1"},
          {"kind", "Deployment"},
          {"metadata", {{"name", group.name}, {"labels", labels_of(deployment, group)}}},
          {"spec", std::move(spec)}};
}

Json service_of(const std::string& name, const Json& labels, const Json& selector) {
  return {{"apiVersion", "v1"},
          {"kind", "Service"},
          {"metadata", {{"name", name}, {"labels", labels}}},
          {"spec",
           {{"selector", selector},
            {"ports",
             Json::array({{{"name", "http"}, {"port", kEnginePort}, {"targetPort", "http"}}})}}}};
}

Json settings_of(const Deployment& deployment, const DeployedGroup& group) {
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata", {{"name", settings_map(group)}, {"labels", labels_of(deployment, group)}}},
          {"data", {{kSettingsName, yaml_text(group.settings)}}}};
}

void add_scaling(const Deployment& deployment, const DeployedGroup& group,
                 std::vector<Json>& objects) {
  if (!group.scaling) return;
  std::optional<Json> trigger = scaling_trigger(*group.engine, *group.scaling, group.name + "-.*");
  if (!trigger) return;
  const Json metadata = {{"name", group.name}, {"labels", labels_of(deployment, group)}};
  objects.push_back(
      {{"apiVersion", "monitoring.coreos.com/v1"},
       {"kind", "PodMonitor"},
       {"metadata", metadata},
       {"spec",
        {{"selector", {{"matchLabels", selector_of(group)}}},
         {"podMetricsEndpoints", Json::array({{{"port", "http"}, {"path", "/metrics"}}})}}}});
  Json spec = {{"scaleTargetRef",
                {{"apiVersion", "apps/v1"}, {"kind", "Deployment"}, {"name", group.name}}}};
  spec.update(*trigger);
  objects.push_back({{"apiVersion", "keda.sh/v1alpha1"},
                     {"kind", "ScaledObject"},
                     {"metadata", metadata},
                     {"spec", std::move(spec)}});
}

// One door for replicas that answer the same requests.
bool have_one_door(const Deployment& deployment) {
  for (const DeployedGroup& group : deployment.groups) {
    if (!group.role.empty() || group.model != deployment.groups.front().model) return false;
  }
  return deployment.groups.size() > 1;
}

}  // namespace

Json container_of(const DeployedGroup& group, const std::vector<std::string>& flags,
                  std::int64_t port) {
  Json variables = Json::array();
  for (const auto& [name, value] : group.environment) {
    variables.push_back({{"name", name}, {"value", value}});
  }
  variables.push_back(
      {{"name", "HF_TOKEN"},
       {"valueFrom",
        {{"secretKeyRef",
          {{"name", "hf-token-secret"}, {"key", "HF_TOKEN"}, {"optional", true}}}}}});
  Json limits = {{"nvidia.com/gpu", fmt::to_string(group.gpus)}};
  if (group.memory_limit_gib) limits["memory"] = gibibytes(*group.memory_limit_gib);
  return {{"name", "engine"},
          {"image", group.image},
          {"command", group.program},
          {"args", flags},
          {"env", std::move(variables)},
          {"ports", Json::array({{{"name", "http"}, {"containerPort", port}}})},
          {"resources", {{"limits", std::move(limits)}}}};
}

Json annotations_of(const DeployedGroup& group) {
  Json annotations = Json::object();
  if (!group.group.empty()) annotations[kGroupKey] = group.group;
  if (!group.role.empty()) annotations[kRoleKey] = group.role;
  if (group.product.empty()) annotations[kDeviceKey] = group.device;
  return annotations;
}

void refuse_form(std::string_view form, const DeployedGroup& group, std::string_view why) {
  throw ConfigError(Complaint{.kind = ErrorKind::unsupported,
                              .origin = std::string(form),
                              .problem = group.group.empty()
                                             ? std::string(why)
                                             : fmt::format("group {}: {}", group.group, why)});
}

DeploymentFiles kubernetes_files(const Deployment& deployment) {
  std::vector<Json> objects;
  for (const DeployedGroup& group : deployment.groups) {
    if (group.image.empty()) refuse_form("kubernetes", group, "no image of this engine is known");
    if (!group.settings.is_null()) objects.push_back(settings_of(deployment, group));
    objects.push_back(workload_of(deployment, group));
    objects.push_back(service_of(group.name, labels_of(deployment, group), selector_of(group)));
    add_scaling(deployment, group, objects);
  }
  if (have_one_door(deployment)) {
    const Json all = {{kPartOf, deployment.name}};
    objects.push_back(service_of(deployment.name, all, all));
  }
  std::vector<std::string> head = deployment.head;
  head.push_back(fmt::format("The start-up probe allows for downloading the weights at {:g} MB/s.",
                             1000 * kDownloadGbPerS));
  head.push_back(
      fmt::format("Each pod downloads them anew: for {}, a PersistentVolumeClaim in place "
                  "of the emptyDir keeps them.",
                  kCacheFolder));
  std::string text = comment_text(head);
  for (const Json& object : objects) text += "---\n" + yaml_text(object);
  return {{"kubernetes.yaml", std::move(text)}};
}

}  // namespace headroom
