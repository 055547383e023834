#include "sim/study/plan/plan_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "scheduler/routing/routers.hpp"
#include "sim/kernel/nearest_name.hpp"
#include "sim/scenario/scenario_file.hpp"
#include "sim/scenario/short_values.hpp"
#include "sim/scenario/spelled_out.hpp"
#include "sim/study/plan/plan_targets.hpp"
#include "sim/study/sweep/study_axes.hpp"

namespace headroom {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kPlanKeys{"$schema",
                                         "name",
                                         "description",
                                         "traffic",
                                         "slo",
                                         "models",
                                         "min_quality",
                                         "instances",
                                         "engines",
                                         "environments",
                                         "tensor_parallel_size",
                                         "growth",
                                         "failures",
                                         "rolling_restart",
                                         "replications",
                                         "max_replicas",
                                         "max_cost_per_hour",
                                         "router",
                                         "seed"};
constexpr std::size_t kMostElements = 1000;

struct NumberRange {
  double low = 0;
  double high = 0;
  bool whole = false;
  bool low_open = false;

  [[nodiscard]] std::string text() const {
    return fmt::format("expected {} {} {:g} and at most {:g}", whole ? "an integer" : "a number",
                       low_open ? "above" : "from", low, high);
  }
};

constexpr NumberRange kFactor{0, 1e6, false, true};
constexpr NumberRange kPrice{0, 1e6, false, true};

class PlanReader {
 public:
  PlanReader(const JsonDocument& document, const std::string& directory)
      : document_(document), directory_(directory) {}

  FleetPlanFile read(const std::string& trace) {
    const Json& root = document_.root;
    expect_keys(document_, "", root, kPlanKeys);
    plan_.file = document_.name;
    plan_.name = text(root, "", "name").value_or(fs::path(document_.name).stem().string());
    if (plan_.name.empty()) throw key_error(document_, "/name", "an empty name", ErrorKind::value);
    plan_.description = text(root, "", "description").value_or("");
    read_traffic();
    if (!trace.empty()) replace_trace(trace);
    read_targets();
    read_models();
    read_instances();
    plan_.engines = sections("engines", EngineSection{}.name.c_str());
    plan_.environments = sections("environments", "native");
    read_rules();
    return std::move(plan_);
  }

 private:
  [[nodiscard]] std::optional<std::string> text(const Json& object, const std::string& place,
                                                const char* key) const {
    if (!object.contains(key)) return std::nullopt;
    if (!object[key].is_string()) {
      throw value_error(document_, fmt::format("{}/{}", place, key), object[key], "expected text");
    }
    return object[key].get<std::string>();
  }

  [[nodiscard]] std::string required_text(const Json& object, const std::string& place,
                                          const char* key, const char* what) const {
    const auto value = text(object, place, key);
    if (!value || value->empty()) throw missing_key(document_, place, key, what);
    return *value;
  }

  // "2s" as scenarios take it; what is no such text stays as it is.
  [[nodiscard]] static Json as_milliseconds(const Json& value) {
    if (!value.is_string()) return value;
    const std::optional<double> ms = short_number(value.get<std::string>(), "ms", {});
    return ms ? Json(*ms) : value;
  }

  [[nodiscard]] double number_of(const Json& value, const std::string& place,
                                 const NumberRange& range) const {
    const bool fits = value.is_number() && (!range.whole || value.is_number_integer());
    const double number = fits ? value.get<double>() : 0;
    if (!fits || number < range.low || (range.low_open && number == range.low) ||
        number > range.high) {
      throw value_error(document_, place, value, range.text());
    }
    return number;
  }

  [[nodiscard]] std::optional<double> number(const Json& object, const std::string& place,
                                             const char* key, const NumberRange& range) const {
    if (!object.contains(key)) return std::nullopt;
    return number_of(object[key], fmt::format("{}/{}", place, key), range);
  }

  [[nodiscard]] std::int64_t integer(const char* key, const NumberRange& range,
                                     std::int64_t otherwise) const {
    const auto value = number(document_.root, "", key, range);
    return value ? static_cast<std::int64_t>(*value) : otherwise;
  }

  [[nodiscard]] const Json& list(const char* key, const char* what) const {
    const Json& root = document_.root;
    if (!root.contains(key)) throw missing_key(document_, "", key, what);
    const Json& value = root[key];
    if (!value.is_array() || value.empty() || value.size() > kMostElements) {
      throw value_error(document_, fmt::format("/{}", key), value,
                        fmt::format("expected a list of 1 to {}: {}", kMostElements, what));
    }
    return value;
  }

  void read_traffic() {
    const char* what =
        "{\"scenario\": the scenario with the workload to serve, \"scale\": a factor on its rate}";
    const Json& root = document_.root;
    if (!root.contains("traffic")) throw missing_key(document_, "", "traffic", what);
    const Json& traffic = root["traffic"];
    expect_keys(document_, "/traffic", traffic, {"scenario", "scale"});
    if (!traffic.contains("scenario")) {
      throw missing_key(document_, "/traffic", "scenario",
                        "a file, a name from `headroom list scenarios`, or an object");
    }
    plan_.scale = number(traffic, "/traffic", "scale", kFactor).value_or(1);
    const Json& scenario = traffic["scenario"];
    Json base = scenario;
    plan_.directory = directory_;
    if (scenario.is_string()) {
      try {
        ScenarioDocument found = read_scenario_document(scenario.get<std::string>(), directory_);
        base = std::move(found.json.root);
        plan_.directory = std::move(found.directory);
      } catch (const ConfigError& error) {
        throw error.at(document_.name, "/traffic/scenario");
      }
    }
    if (!base.is_object() || !base.contains("workload") || !base["workload"].is_object()) {
      throw value_error(document_, "/traffic/scenario", scenario,
                        "expected a scenario with a workload section");
    }
    plan_.workload = base["workload"];
    spell_out(plan_.workload, "/workload");
    // Of the traffic's scenario, as the scenarios of candidates have it.
    constexpr std::string_view kScenario = "/traffic/scenario";
    for (const auto& [pointer, flag] : document_.overrides) {
      const bool inside = scenario.is_object() && pointer.starts_with(kScenario);
      plan_.origins[inside ? pointer.substr(kScenario.size()) : pointer] = flag;
    }
  }

  void replace_trace(const std::string& trace) {
    const std::string flag = fmt::format("--trace {}", trace);
    if (!plan_.workload.contains("trace") || !plan_.workload["trace"].is_object()) {
      throw ConfigError(Complaint{
          .kind = ErrorKind::no_effect,
          .origin = flag,
          .problem =
              fmt::format("has no effect: the traffic of {} is not a trace", document_.name)});
    }
    plan_.workload["trace"]["file"] = trace;
    plan_.origins["/workload/trace/file"] = flag;
  }

  void read_targets() {
    const Json& root = document_.root;
    if (!root.contains("slo")) {
      throw missing_key(document_, "", "slo", "limits in ms, e.g. {\"p99_ttft_ms\": 1000}");
    }
    const std::vector<std::string> known = plan_metric_names();
    expect_keys(document_, "/slo", root["slo"], known);
    if (root["slo"].empty()) throw key_error(document_, "/slo", "no target", ErrorKind::missing);
    for (const auto& [metric, limit] : root["slo"].items()) {
      plan_.targets.push_back(
          {metric, number_of(as_milliseconds(limit), fmt::format("/slo/{}", metric),
                             {0, 1e9, false, true})});
    }
  }

  void read_models() {
    const Json& models = list("models", "catalog ids, or objects with \"model\"");
    std::set<std::string> seen;
    for (std::size_t i = 0; i < models.size(); ++i) {
      const std::string place = fmt::format("/models/{}", i);
      PlanModel model;
      if (models[i].is_string()) {
        model.model = models[i].get<std::string>();
      } else {
        expect_keys(document_, place, models[i],
                    {"model", "quality", "input_tokens_factor", "output_tokens_factor",
                     "thinking_tokens_factor"});
        model.model =
            required_text(models[i], place, "model", "a name from `headroom list models`");
        model.quality = number(models[i], place, "quality", {-1e9, 1e9});
        const auto factor = [&](const char* key, double& value, const NumberRange& range) {
          value = number(models[i], place, key, range).value_or(1);
        };
        factor("input_tokens_factor", model.input_tokens_factor, kFactor);
        factor("output_tokens_factor", model.output_tokens_factor, kFactor);
        factor("thinking_tokens_factor", model.thinking_tokens_factor, {0, 1e6});
      }
      if (!seen.insert(model.model).second) {
        throw value_error(document_, place, models[i], "expected each model once", {},
                          ErrorKind::conflict);
      }
      plan_.models.push_back(std::move(model));
    }
    plan_.min_quality = number(document_.root, "", "min_quality", {-1e9, 1e9});
    if (!plan_.min_quality) return;
    for (std::size_t i = 0; i < plan_.models.size(); ++i) {
      if (plan_.models[i].quality) continue;
      throw missing_key(document_, fmt::format("/models/{}", i), "quality",
                        "a score, because min_quality is set");
    }
  }

  void read_instances() {
    const Json& instances = list("instances", "objects with name, device, price_per_hour");
    std::set<std::string> seen;
    for (std::size_t i = 0; i < instances.size(); ++i) {
      const std::string place = fmt::format("/instances/{}", i);
      const Json& one = instances[i];
      expect_keys(document_, place, one,
                  {"name", "device", "gpus", "price_per_hour", "price_source", "nvlink_domain",
                   "nic_gb_per_s"});
      PlanInstance instance;
      instance.device = required_text(one, place, "device", "a name from `headroom list devices`");
      instance.name = text(one, place, "name").value_or(instance.device);
      const NumberRange count{1, 1024, true};
      instance.gpus = static_cast<std::int64_t>(number(one, place, "gpus", count).value_or(1));
      const auto price = number(one, place, "price_per_hour", kPrice);
      if (!price) throw missing_key(document_, place, "price_per_hour", "$ for the whole instance");
      instance.price_per_hour = *price;
      instance.price_source = text(one, place, "price_source").value_or("");
      if (const auto domain = number(one, place, "nvlink_domain", count)) {
        instance.nvlink_domain = static_cast<std::int64_t>(*domain);
      }
      instance.nic_gb_per_s = number(one, place, "nic_gb_per_s", {1e-3, 10000});
      if (instance.nic_gb_per_s &&
          instance.nvlink_domain.value_or(instance.gpus) >= instance.gpus) {
        throw key_error(document_, place + "/nic_gb_per_s",
                        "has no effect: nvlink_domain joins all gpus of the instance",
                        ErrorKind::no_effect);
      }
      if (!seen.insert(instance.name).second) {
        throw value_error(document_, place + "/name", instance.name, "expected each name once", {},
                          ErrorKind::conflict);
      }
      plan_.instances.push_back(std::move(instance));
    }
  }

  [[nodiscard]] std::vector<Json> sections(const char* key, const char* otherwise) const {
    if (!document_.root.contains(key)) return {Json{{"name", otherwise}}};
    std::vector<Json> all;
    const Json& values = list(key, "names, or sections of a scenario");
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::string place = fmt::format("/{}/{}", key, i);
      if (values[i].is_string()) {
        all.push_back({{"name", values[i]}});
        continue;
      }
      if (!values[i].is_object()) {
        throw value_error(document_, place, values[i], "expected a name or a section");
      }
      for (const char* own :
           {"tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size"}) {
        if (values[i].contains(own)) {
          throw key_error(
              document_, place + "/" + own,
              "the plan sets the split of the models (tensor_parallel_size at its top level)",
              ErrorKind::conflict);
        }
      }
      all.push_back(values[i]);
      if (!values[i].contains("name")) all.back()["name"] = otherwise;
    }
    return all;
  }

  void read_rules() {
    const Json& root = document_.root;
    plan_.tensor_parallel_sizes = {1, 2, 4, 8};
    if (root.contains("tensor_parallel_size")) {
      plan_.tensor_parallel_sizes.clear();
      const Json& sizes = list("tensor_parallel_size", "devices of a replica");
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        const std::string place = fmt::format("/tensor_parallel_size/{}", i);
        plan_.tensor_parallel_sizes.push_back(
            static_cast<std::int64_t>(number_of(sizes[i], place, {1, 1024, true})));
      }
      std::ranges::sort(plan_.tensor_parallel_sizes);
      std::vector<std::int64_t>& all = plan_.tensor_parallel_sizes;
      all.erase(std::unique(all.begin(), all.end()), all.end());
    }
    if (root.contains("growth")) {
      const Json& growth = list("growth", "factors on the traffic");
      for (std::size_t i = 0; i < growth.size(); ++i) {
        plan_.growth.push_back(
            number_of(growth[i], fmt::format("/growth/{}", i), {1, 1000, false, true}));
      }
    }
    plan_.failures = integer("failures", {0, 1000, true}, 0);
    plan_.replications = integer("replications", {1, kMostPlanReplications, true}, 3);
    plan_.max_replicas = integer("max_replicas", {1, kMostPlanReplicas, true}, 256);
    plan_.seed = integer("seed", {0, 9007199254740992.0, true}, 1);
    plan_.max_cost_per_hour = number(root, "", "max_cost_per_hour", {0, 1e9, false, true});
    if (root.contains("rolling_restart")) {
      if (!root["rolling_restart"].is_boolean()) {
        throw value_error(document_, "/rolling_restart", root["rolling_restart"],
                          "expected true or false");
      }
      plan_.rolling_restart = root["rolling_restart"].get<bool>();
    }
    read_router();
  }

  void read_router() {
    plan_.router = text(document_.root, "", "router").value_or("least_outstanding");
    std::vector<std::string> names;
    for (const RouterRow& row : router_rows()) names.emplace_back(row.name);
    if (std::ranges::find(names, plan_.router) == names.end()) {
      throw value_error(document_, "/router", plan_.router,
                        fmt::format("expected {}", fmt::join(names, "|")),
                        nearest_name(plan_.router, names), ErrorKind::unknown);
    }
    if (!router_row(plan_.router).keeps_promises) return;
    if (tightest_limit(plan_, "_ttft_") || tightest_limit(plan_, "_tpot_")) return;
    throw value_error(
        document_, "/router", plan_.router,
        "there are no targets: expected a limit on TTFT or TPOT in slo, which this router needs");
  }

  const JsonDocument& document_;
  const std::string& directory_;
  FleetPlanFile plan_;
};

}  // namespace

std::optional<double> tightest_limit(const FleetPlanFile& plan, std::string_view latency) {
  std::optional<double> limit;
  for (const PlanTarget& target : plan.targets) {
    if (target.metric.find(latency) == std::string::npos) continue;
    limit = std::min(limit.value_or(target.limit_ms), target.limit_ms);
  }
  return limit;
}

FleetPlanFile parse_fleet_plan(const JsonDocument& document, const std::string& directory,
                               const std::string& trace) {
  return PlanReader(document, directory).read(trace);
}

FleetPlanFile set_fleet_plan(JsonDocument& document, const std::vector<std::string>& set) {
  for (const std::string& assignment : set) set_value(document, assignment);
  return parse_fleet_plan(document, "", "");
}

FleetPlanFile load_fleet_plan(const std::string& name, const std::string& trace,
                              const std::vector<std::string>& set) {
  std::error_code ignored;
  const auto parsed = [&](JsonDocument document, const std::string& directory) {
    for (const std::string& assignment : set) set_value(document, assignment);
    return parse_fleet_plan(document, directory, trace);
  };
  if (fs::exists(name, ignored) && !fs::is_directory(name, ignored)) {
    return parsed(read_json_file(name), fs::path(name).parent_path().string());
  }
  std::vector<std::string> known;
  for (const EmbeddedFile& file : plan_files()) {
    const std::string stem = fs::path(file.name).stem().string();
    if (stem == name) return parsed(parse_json(file.content, name), "");
    known.push_back(stem);
  }
  const std::string nearest = nearest_name(name, known);
  throw ConfigError(Complaint{.kind = ErrorKind::unreadable,
                              .origin = name,
                              .problem = "no such file, and no built-in plan of this name",
                              .nearest = nearest,
                              .context = nearest.empty() ? "see `headroom list plans`" : ""});
}

}  // namespace headroom
