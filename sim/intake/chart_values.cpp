#include "sim/intake/chart_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/engines/launch.hpp"
#include "sim/intake/container.hpp"
#include "sim/intake/launch.hpp"
#include "sim/intake/pod.hpp"
#include "sim/intake/scaling_trigger.hpp"
#include "sim/intake/values.hpp"
#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

constexpr const char* kEngineSpec = "servingEngineSpec";

struct RoutingName {
  std::string_view policy;
  std::string_view name;
};
// helm/README.md, routerSpec.routingLogic
constexpr std::array kStackRouting{RoutingName{"round_robin", "roundrobin"},
                                   RoutingName{"prefix_affinity", "prefixaware"}};

// "maxModelLen" -> "--max-model-len"
std::string flag_of_key(const std::string& key) {
  std::string flag = "--";
  for (const char c : key) {
    if (c >= 'A' && c <= 'Z') {
      flag += '-';
      flag += static_cast<char>(c - 'A' + 'a');
    } else {
      flag += c;
    }
  }
  return flag;
}

// The chart starts one engine.
const Engine* engine_of_chart() {
  const auto launched = launched_engines();
  const auto found = std::ranges::find_if(launched, [](const Engine* engine) {
    return !engine->launch->deployment.chart_section.empty();
  });
  return found == launched.end() ? nullptr : *found;
}

// helm/templates/deployment-vllm-multi.yaml: keys are flags; prefix caching is off unless it is on.
std::vector<std::string> stack_words(const Json& section) {
  constexpr const char* kPrefixCaching = "enablePrefixCaching";
  std::vector<std::string> words;
  if (!member_of(section, kPrefixCaching).is_string()) {
    words.push_back("--no" + flag_of_key(kPrefixCaching).substr(1));
  }
  std::vector<std::string> last;
  for (const auto& [key, value] : section.items()) {
    if (key == "extraArgs") {
      for (const Json& word : value) {
        if (word.is_string()) last.push_back(word.get<std::string>());
      }
      continue;
    }
    if (!value.is_string()) continue;
    const std::string text = value.get<std::string>();
    const std::string flag = flag_of_key(key);
    if (text == "true" || text == "false") {
      words.push_back(text == "true" ? flag : "--no" + flag.substr(1));
    } else {
      words.push_back(flag);
      words.push_back(text);
    }
  }
  words.insert(words.end(), last.begin(), last.end());
  return words;
}

// The pod that the chart makes of one model.
Json stack_pod(const Json& model, const Engine& engine) {
  const EngineLaunch& launch = *engine.launch;
  const Json& section = member_of(model, std::string(launch.deployment.chart_section));
  Json container = {{"image", text_of(model, "repository") + ":" + text_of(model, "tag")},
                    {"args", Json::array({text_of(model, "modelURL")})},
                    {"env", member_of(model, "env")}};
  container["command"] = Json::array();
  for (const std::string_view word : launch.entrypoint) container["command"].push_back(word);
  for (const std::string& word : stack_words(section)) container["args"].push_back(word);
  Json limits = {{"nvidia.com/gpu", text_of(model, "requestGPU")}};
  if (member_of(model, "limitMemory").is_string()) limits["memory"] = model.at("limitMemory");
  container["resources"]["limits"] = std::move(limits);
  Json pod = Json::object();
  if (member_of(section, "tensorParallelSize").is_string()) {
    const std::string size = text_of(model, "shmSize");
    container["volumeMounts"] = Json::array({{{"name", "shm"}, {"mountPath", "/dev/shm"}}});
    pod["volumes"] = Json::array(
        {{{"name", "shm"},
          {"emptyDir", {{"medium", "Memory"}, {"sizeLimit", size.empty() ? "20Gi" : size}}}}});
  }
  pod["containers"] = Json::array({std::move(container)});
  return pod;
}

}  // namespace

std::string_view stack_routing(std::string_view policy) {
  const auto found = std::ranges::find(kStackRouting, policy, &RoutingName::policy);
  return found == kStackRouting.end() ? std::string_view{} : found->name;
}

bool holds_stack_values(const Json& values) {
  return member_of(values, {kEngineSpec, "modelSpec"}).is_array();
}

bool holds_modelservice_values(const Json& values) {
  return member_of(values, "modelArtifacts").is_object() &&
         (member_of(values, "decode").is_object() || member_of(values, "prefill").is_object());
}

std::vector<StackPart> parts_of_stack(const Json& values, const std::string& name,
                                      const std::string& release, std::string& router) {
  std::vector<StackPart> parts;
  const Engine* engine = engine_of_chart();
  HEADROOM_CHECK(engine != nullptr, "no engine has the chart");
  for (const Json& model : member_of(values, {kEngineSpec, "modelSpec"})) {
    const Json& annotations = member_of(model, "annotations");
    std::optional<DeployedPart> part = read_pod(
        stack_pod(model, *engine), annotations,
        {.shown_as = fmt::format("{}: {}", name, text_of(model, "name")), .release = release});
    if (!part) continue;
    const std::string device = device_of_nodes(Json(), member_of(model, "nodeSelectorTerms"));
    if (!device.empty()) part->device = device;
    part->replicas = count_of(model, "replicaCount", 1);
    const Json& keda = member_of(model, "keda");
    if (text_of(keda, "enabled") == "true") {
      part->scaling = read_scaling_trigger(*engine, keda, part->engine.notes);
    }
    parts.push_back({text_of(model, "name"), std::move(*part)});
  }
  const std::string logic = text_of(values, {"routerSpec", "routingLogic"});
  const auto found = std::ranges::find(kStackRouting, logic, &RoutingName::name);
  if (found != kStackRouting.end()) router = found->policy;
  return parts;
}

std::vector<DeployedPart> parts_of_modelservice(const Json& values, const std::string& name,
                                                const std::string& release) {
  std::vector<DeployedPart> parts;
  for (const char* role : {"prefill", "decode"}) {
    const Json& section = member_of(values, role);
    const std::int64_t replicas = count_of(section, "replicas", 1);
    if (text_of(section, "create") == "false" || replicas < 1) continue;
    std::optional<DeployedPart> part = read_pod(
        section, Json(), {.shown_as = fmt::format("{}: {}", name, role), .release = release});
    if (!part) continue;
    part->replicas = replicas;
    part->group = role;
    part->role = role;
    const Json& types = member_of(section, "acceleratorTypes");
    const Json term = {{"key", text_of(types, "labelKey")},
                       {"operator", "In"},
                       {"values", member_of(types, "labelValues")}};
    const Json expressions = Json::array({term});
    const std::string device =
        device_of_nodes(Json(), Json::array({{{"matchExpressions", expressions}}}));
    const Json& labels = member_of(values, {"modelArtifacts", "labels"});
    part->device = device.empty() ? text_of(labels, kDeviceKey) : device;
    parts.push_back(std::move(*part));
  }
  if (parts.size() == 1) {  // replicas that do both
    parts.front().group.clear();
    parts.front().role.clear();
  }
  return parts;
}

}  // namespace headroom
