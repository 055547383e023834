#include "sim/intake/scaling_trigger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/engines/engine_metrics.hpp"
#include "sim/engines/published_metrics.hpp"
#include "sim/intake/values.hpp"

namespace headroom {
namespace {

// Where the Prometheus operator puts its server.
constexpr const char* kPrometheus = "http://prometheus-operated.monitoring.svc:9090";
// Rates need two scrapes of 30 s.
constexpr double kShortestWindowS = 60;
constexpr std::array<std::string_view, 5> kScalingMetrics{"queue", "in_flight", "kv", "ttft",
                                                          "tpot"};

std::string_view first_of(std::string_view names) { return names.substr(0, names.find('|')); }

// The histogram of the engine whose API others imitate; empty: this engine has other names.
std::string_view histogram_of(const Engine& engine, Published what) {
  if (engine.metrics == nullptr) return {};
  const auto& all = published_metrics().metrics;
  const auto found = std::ranges::find(all, what, &PublishedMetric::what);
  const bool own = found != all.end() && found->name.starts_with(engine.metrics->prefix);
  return own ? found->name : std::string_view{};
}

std::string gauge(std::string_view name, const std::string& pods) {
  return fmt::format("sum({}{{pod=~\"{}\"}})", name, pods);
}

// Empty: the engine does not publish it.
std::string query_of(const Engine& engine, const AutoscalingSection& scaling,
                     const std::string& pods) {
  if (scaling.metric == "ttft" || scaling.metric == "tpot") {
    const std::string_view name = histogram_of(
        engine, scaling.metric == "ttft" ? Published::first_token_s : Published::per_token_s);
    if (name.empty()) return "";
    return fmt::format(
        "1000 * histogram_quantile({}, sum by (le) (rate({}_bucket{{pod=~\"{}\"}}[{:.0f}s])))",
        scaling.percentile / 100, name, pods, std::max(scaling.interval_s, kShortestWindowS));
  }
  if (engine.load_metrics == nullptr) return "";
  const LoadMetrics& load = *engine.load_metrics;
  const std::string_view running = first_of(load.running);
  const std::string_view waiting = first_of(load.waiting);
  const std::string_view kv = first_of(load.kv_share);
  if (scaling.metric == "queue") return waiting.empty() ? "" : gauge(waiting, pods);
  if (scaling.metric == "kv") return kv.empty() ? "" : gauge(kv, pods);
  if (scaling.metric != "in_flight" || running.empty() || waiting.empty()) return "";
  return gauge(running, pods) + " + " + gauge(waiting, pods);
}

Json policy(std::int64_t pods, double period_s) {
  return Json::array(
      {{{"type", "Pods"}, {"value", pods}, {"periodSeconds", std::llround(period_s)}}});
}

// Of one direction. The autoscaler's own limits (4 pods or 100 % per 15 s) are not the scenario's.
Json behaviour(double stabilization_s, const std::optional<std::int64_t>& most,
               const AutoscalingSection& scaling) {
  Json one = {{"stabilizationWindowSeconds", std::llround(stabilization_s)}};
  one["policies"] = policy(most.value_or(scaling.max_replicas), scaling.period_s);
  if (scaling.tolerance != AutoscalingSection{}.tolerance) {
    one["tolerance"] = fmt::format("{}", scaling.tolerance);
  }
  return one;
}

const Json& inner(const Json& object, std::initializer_list<const char*> keys) {
  static const Json kNone;
  const Json* at = &object;
  for (const char* key : keys) {
    if (!at->is_object() || !at->contains(key)) return kNone;
    at = &at->at(key);
  }
  return *at;
}

// YAML's scalars are texts.
std::optional<double> number_at(const Json& object, std::initializer_list<const char*> keys) {
  const Json& value = inner(object, keys);
  if (value.is_number()) return value.get<double>();
  return value.is_string() ? decimal_number(value.get<std::string>()) : std::nullopt;
}

Json plain_number(double value) {
  const auto whole = static_cast<std::int64_t>(value);
  return static_cast<double>(whole) == value ? Json(whole) : Json(value);
}

// The text behind `start` up to `end`; empty: there is none.
std::string between(const std::string& text, std::string_view start, std::string_view end) {
  const std::size_t at = text.find(start);
  if (at == std::string::npos) return "";
  const std::size_t from = at + start.size();
  const std::size_t to = text.find(end, from);
  return to == std::string::npos ? "" : text.substr(from, to - from);
}

void read_behaviour(const Json& spec, const char* direction, const char* limit_key,
                    const char* window_key, Json& element) {
  const Json& one =
      inner(spec, {"advanced", "horizontalPodAutoscalerConfig", "behavior", direction});
  if (const auto window = number_at(one, {"stabilizationWindowSeconds"})) {
    element[window_key] = plain_number(*window);
  }
  if (const auto tolerance = number_at(one, {"tolerance"})) element["tolerance"] = *tolerance;
  const Json& policies = inner(one, {"policies"});
  if (!policies.is_array() || policies.size() != 1) return;
  const auto pods = number_at(policies.front(), {"value"});
  const auto period = number_at(policies.front(), {"periodSeconds"});
  if (!pods || !period || inner(policies.front(), {"type"}) != "Pods") return;
  element["period_s"] = plain_number(*period);
  if (*pods < element.value("max_replicas", 1.0)) element[limit_key] = plain_number(*pods);
}

}  // namespace

std::optional<Json> scaling_trigger(const Engine& engine, const AutoscalingSection& scaling,
                                    const std::string& pods) {
  const std::string query = query_of(engine, scaling, pods);
  if (query.empty()) return std::nullopt;
  const bool latency = scaling.metric == "ttft" || scaling.metric == "tpot";
  const Json down = behaviour(scaling.scale_down_stabilization_s, scaling.max_removed, scaling);
  const Json up = behaviour(scaling.scale_up_stabilization_s, scaling.max_added, scaling);
  Json spec = {{"minReplicaCount", scaling.min_replicas},
               {"maxReplicaCount", scaling.max_replicas},
               {"pollingInterval", std::llround(scaling.interval_s)}};
  spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"] = {{"scaleDown", down},
                                                                   {"scaleUp", up}};
  // The total over the target is the number of replicas; of a latency the share of it is.
  spec["triggers"] = Json::array({{{"type", "prometheus"},
                                   {"metricType", latency ? "Value" : "AverageValue"},
                                   {"metadata",
                                    {{"serverAddress", kPrometheus},
                                     {"query", query},
                                     {"threshold", fmt::format("{}", scaling.target)}}}}});
  return spec;
}

std::optional<Json> read_scaling_trigger(const Engine& engine, const Json& spec,
                                         std::vector<std::string>& notes) {
  const Json& triggers = inner(spec, {"triggers"});
  if (!triggers.is_array() || triggers.size() != 1) {
    notes.emplace_back("autoscaling with another number of triggers than one is not read");
    return std::nullopt;
  }
  const Json& metadata = inner(triggers.front(), {"metadata"});
  const Json& query = inner(metadata, {"query"});
  const std::optional<double> target = number_at(metadata, {"threshold"});
  const std::string text = query.is_string() ? query.get<std::string>() : "";
  AutoscalingSection asked;
  asked.interval_s = number_at(spec, {"pollingInterval"}).value_or(30);  // KEDA's default
  if (const auto share = decimal_number(between(text, "histogram_quantile(", ","))) {
    asked.percentile = static_cast<double>(std::llround(*share * 1e6)) / 1e4;
  }
  const std::string pods = between(text, "pod=~\"", "\"");
  const auto metric = std::ranges::find_if(kScalingMetrics, [&](std::string_view name) {
    asked.metric = name;
    return !text.empty() && query_of(engine, asked, pods) == text;
  });
  if (metric == kScalingMetrics.end() || !target) {
    notes.push_back(fmt::format("autoscaling by '{}' is not modelled", text));
    return std::nullopt;
  }
  Json element = {
      {"min_replicas", plain_number(number_at(spec, {"minReplicaCount"}).value_or(0))},
      {"max_replicas", plain_number(number_at(spec, {"maxReplicaCount"}).value_or(100))},
      {"metric", *metric},
      {"target", plain_number(*target)}};
  if (*metric == "ttft" || *metric == "tpot")
    element["percentile"] = plain_number(asked.percentile);
  element["interval_s"] = plain_number(asked.interval_s);
  read_behaviour(spec, "scaleUp", "max_added", "scale_up_stabilization_s", element);
  read_behaviour(spec, "scaleDown", "max_removed", "scale_down_stabilization_s", element);
  return element;
}

}  // namespace headroom
