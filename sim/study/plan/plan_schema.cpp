// The JSON Schema of plan files, for editors. What it cannot say (names that the catalog has, a
// file that exists) is checked when a plan is read.

#include <fmt/format.h>

#include "sim/engines/engine_section.hpp"
#include "sim/study/plan/plan_file.hpp"
#include "sim/study/plan/plan_targets.hpp"
#include "sim/study/schema_object.hpp"

namespace headroom {
namespace {

Json described(const char* text, const Json& schema) {
  Json all = {{"description", text}};
  all.update(schema);
  return all;
}

Json above_zero() { return {{"type", "number"}, {"exclusiveMinimum", 0}}; }
Json whole(std::int64_t low, std::int64_t high) {
  return {{"type", "integer"}, {"minimum", low}, {"maximum", high}};
}
Json text() { return {{"type", "string"}}; }
Json list_of(Json items) {
  return {{"type", "array"}, {"minItems", 1}, {"items", std::move(items)}};
}

Json model_schema() {
  const char* kTokens =
      "tokens of this model per token of the traffic (for another tokenizer); default 1";
  return {{"anyOf",
           Json::array(
               {text(),
                schema_object(
                    {{"model", described("a name from `headroom list models`", text())},
                     {"quality", described("your own score; more is better", {{"type", "number"}})},
                     {"input_tokens_factor", described(kTokens, above_zero())},
                     {"output_tokens_factor", described(kTokens, above_zero())},
                     {"thinking_tokens_factor",
                      described(kTokens, {{"type", "number"}, {"minimum", 0}})}},
                    {"model"})})}};
}

Json instance_schema() {
  return schema_object(
      {{"name", described("name of the instance in results; default: the device", text())},
       {"device", described("a name from `headroom list devices`", text())},
       {"gpus", described("number of devices in the instance; default 1", whole(1, 1024))},
       {"price_per_hour", described("$ for the whole instance", above_zero())},
       {"price_source", described("source and date of the price", text())},
       {"nvlink_domain",
        described("number of devices joined by NVLink or similar; default: gpus", whole(1, 1024))},
       {"nic_gb_per_s", described("network port of each device, used beyond nvlink_domain",
                                  {{"type", "number"}, {"minimum", 1e-3}})}},
      {"device", "price_per_hour"});
}

Json section_schema(const std::string& description) {
  return described(description.c_str(), list_of({{"type", {"string", "object"}}}));
}

}  // namespace

Json plan_schema() {
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                 {"title", "Headroom plan of a fleet"},
                 {"type", "object"},
                 {"additionalProperties", false}};
  Json& p = schema["properties"];
  p["$schema"] = text();
  p["name"] = described("name of the plan; when absent: the file's name", text());
  p["description"] = described("for people", text());
  p["traffic"] = described(
      "the traffic to serve",
      schema_object({{"scenario", described("scenario with the workload: a file, a name from "
                                            "`headroom list scenarios`, or a scenario",
                                            {{"type", {"string", "object"}}})},
                     {"scale", described("factor on its rate; default 1", above_zero())}},
                    {"scenario"}));
  Json targets = Json::object();
  for (const std::string& name : plan_metric_names()) {
    targets[name] = above_zero();
    targets[name]["type"] = {"number", "string"};  // "2s"
    targets[name]["pattern"] = "^[0-9.]+ ?[A-Za-z]+$";
  }
  p["slo"] = described("limits in ms", schema_object(std::move(targets), Json::array()));
  p["slo"]["minProperties"] = 1;
  p["models"] = list_of(model_schema());
  p["min_quality"] = described("models with a lower quality are left out", {{"type", "number"}});
  p["instances"] = list_of(instance_schema());
  p["engines"] = section_schema(
      fmt::format("names, or sections `engine` of a scenario; default {}", EngineSection{}.name));
  p["environments"] =
      section_schema("names, or sections `environment` of a scenario; default native");
  p["tensor_parallel_size"] = described(
      "devices per replica; sizes larger than an instance are left out; default 1, 2, 4, 8",
      list_of(whole(1, 1024)));
  p["growth"] =
      described("factors on the traffic for which to report the cost as well",
                list_of({{"type", "number"}, {"exclusiveMinimum", 1}, {"maximum", 1000}}));
  p["failures"] =
      described("failed replicas with which the fleet must still meet the targets; default 0",
                whole(0, 1000));
  p["rolling_restart"] =
      described("the fleet must meet the targets while one replica restarts; default false",
                {{"type", "boolean"}});
  p["replications"] = described(
      "runs of each fleet, each with its own seed; up to 8 times as many if a target stays "
      "undecided; default 3",
      whole(1, kMostPlanReplications));
  p["max_replicas"] = described("default 256", whole(1, kMostPlanReplicas));
  p["max_cost_per_hour"] = described("$", above_zero());
  p["router"] = described("fleet.router.policy; default least_outstanding", text());
  p["seed"] = described("default 1", {{"type", "integer"}, {"minimum", 0}});
  schema["required"] = Json::array({"traffic", "slo", "models", "instances"});
  return schema;
}

}  // namespace headroom
