// scenario_from_deployment: YAML of Kubernetes objects (Deployment, StatefulSet, Pod, ConfigMap,
// KEDA's ScaledObject), of NVIDIA Dynamo's DynamoGraphDeployment
// (https://github.com/ai-dynamo/dynamo, examples/backends/vllm/deploy/v1beta1), and values of Helm
// charts (chart_values.hpp).

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/engines/engines.hpp"
#include "sim/engines/launch.hpp"
#include "sim/intake/chart_values.hpp"
#include "sim/intake/launch.hpp"
#include "sim/intake/pod.hpp"
#include "sim/intake/scaling_trigger.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/scenario/yaml.hpp"

namespace headroom {
namespace {

constexpr std::array<std::string_view, 2> kWorkloads{"Deployment", "StatefulSet"};

struct NamedPart {
  std::string name;  // of the object, or of the chart's model
  DeployedPart part;
  bool of_chart = false;

  // Whether an object called so is this part's: a chart puts words around its name.
  [[nodiscard]] bool is_called(const std::string& object) const {
    if (!of_chart) return object == name;
    const std::string_view end = engine_named(part.engine.engine).launch->deployment.chart_workload;
    return object.ends_with(fmt::format("-{}{}", name, end));
  }
};

class ManifestReader {
 public:
  explicit ManifestReader(std::string release) : release_(std::move(release)) {}

  void read(const std::vector<DeploymentText>& files) {
    std::vector<std::pair<std::string, Json>> documents;
    for (const DeploymentText& file : files) {
      for (Json& one : read_yaml_documents(file.text, file.name)) {
        documents.emplace_back(file.name, std::move(one));
      }
    }
    for (const auto& [file, one] : documents) read_config_map(one);
    for (const auto& [file, one] : documents) {
      file_ = file;
      read_object(one);
    }
    for (const auto& [file, one] : documents) read_scaled_object(one);
  }

  [[nodiscard]] std::vector<DeployedPart> take() {
    std::vector<DeployedPart> parts;
    for (NamedPart& one : parts_) parts.push_back(std::move(one.part));
    return parts;
  }
  [[nodiscard]] const std::string& router() const { return router_; }

 private:
  void read_config_map(const Json& object) {
    if (text_of(object, "kind") != "ConfigMap") return;
    std::map<std::string, std::string>& files = maps_[text_of(object, {"metadata", "name"})];
    for (const auto& [file, text] : member_of(object, "data").items()) {
      if (text.is_string()) files[file] = text.get<std::string>();
    }
  }

  void read_object(const Json& object) {
    if (holds_stack_values(object)) {
      for (StackPart& one : parts_of_stack(object, file_, release_, router_)) {
        parts_.push_back({one.model, std::move(one.part), true});
      }
      return;
    }
    if (holds_modelservice_values(object)) {
      for (DeployedPart& part : parts_of_modelservice(object, file_, release_)) {
        parts_.push_back({"", std::move(part)});
      }
      return;
    }
    const std::string kind = text_of(object, "kind");
    const std::string name = text_of(object, {"metadata", "name"});
    if (kind == "DynamoGraphDeployment") return read_graph(object);
    if (kind == "List") {
      for (const Json& item : member_of(object, "items")) read_object(item);
      return;
    }
    if (kind == "Pod") {
      add(name, 1, read(name, member_of(object, "spec"), object));
    } else if (std::ranges::count(kWorkloads, kind) > 0) {
      const Json& pods = member_of(object, {"spec", "template"});
      add(name, count_of(member_of(object, "spec"), "replicas", 1),
          read(name, member_of(pods, "spec"), pods));
    }
  }

  [[nodiscard]] std::optional<DeployedPart> read(const std::string& name, const Json& pod,
                                                 const Json& with_metadata) const {
    return read_pod(
        pod, member_of(with_metadata, {"metadata", "annotations"}),
        {.shown_as = fmt::format("{}: {}", file_, name), .release = release_, .configs = &maps_});
  }

  void add(const std::string& name, std::int64_t replicas, std::optional<DeployedPart> part) {
    if (!part || replicas < 1) return;
    part->replicas = replicas;
    parts_.push_back({name, std::move(*part)});
  }

  void read_graph(const Json& object) {
    for (const Json& component : member_of(object, {"spec", "components"})) {
      const Json& pods = member_of(component, "podTemplate");
      const std::string type = text_of(component, "type");
      const std::string name = text_of(component, "name");
      if (type == "frontend") {
        read_frontend(pods);
        continue;
      }
      std::optional<DeployedPart> part = read(name, member_of(pods, "spec"), pods);
      if (part && (type == "prefill" || type == "decode")) part->role = type;
      add(name, count_of(component, "replicas", 1), std::move(part));
    }
  }

  // components/src/dynamo/frontend: DYN_ROUTER_MODE
  void read_frontend(const Json& pods) {
    for (const Json& container : member_of(pods, {"spec", "containers"})) {
      for (const Json& variable : member_of(container, "env")) {
        if (text_of(variable, "name") != "DYN_ROUTER_MODE") continue;
        const std::string mode = text_of(variable, "value");
        if (mode == "kv") router_ = "weighted";
        if (mode == "round-robin") router_ = "round_robin";
        if (mode == "random") router_ = "random";
      }
    }
  }

  void read_scaled_object(const Json& object) {
    const std::string kind = text_of(object, "kind");
    const bool is_of_cluster = kind == "HorizontalPodAutoscaler";
    if (!is_of_cluster && kind != "ScaledObject") return;
    const std::string target = text_of(object, {"spec", "scaleTargetRef", "name"});
    const auto found =
        std::ranges::find_if(parts_, [&](const NamedPart& part) { return part.is_called(target); });
    if (found == parts_.end()) return;
    FromResult& engine = found->part.engine;
    if (is_of_cluster) {
      engine.notes.push_back(fmt::format(
          "the HorizontalPodAutoscaler {} is left out: the number of replicas stays as it is; "
          "fleet.autoscaling simulates one",
          text_of(object, {"metadata", "name"})));
      return;
    }
    found->part.scaling =
        read_scaling_trigger(engine_named(engine.engine), member_of(object, "spec"), engine.notes);
  }

  std::string release_;
  std::string file_;  // that is read
  ConfigMaps maps_;
  std::vector<NamedPart> parts_;
  std::string router_;
};

}  // namespace

bool holds_deployment(const std::string& text) {
  const auto has_key = [&text](const std::string& key) {
    return text.starts_with(key) || text.find("\n" + key) != std::string::npos;
  };
  return (has_key("apiVersion:") && has_key("kind:")) || has_key("servingEngineSpec:") ||
         has_key("modelArtifacts:");
}

FromResult scenario_from_deployment(const std::vector<DeploymentText>& files,
                                    std::string_view release) {
  ManifestReader reader{std::string(release)};
  reader.read(files);
  std::vector<DeployedPart> parts = reader.take();
  const std::string& router = reader.router();
  if (parts.empty()) {
    throw ConfigError(Complaint{
        .origin = files.front().name,
        .problem =
            fmt::format("no pod starts a known engine; supported: {}", understood_commands())});
  }
  FromResult result = scenario_of_parts(std::move(parts));
  if (!router.empty() && result.scenario.contains("fleet")) {
    result.scenario["fleet"]["router"] = {{"policy", router}};
  }
  return result;
}

}  // namespace headroom
