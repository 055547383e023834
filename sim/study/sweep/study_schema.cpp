// The JSON Schema of study files, for editors. What it cannot say (paths that exist, ranges that
// are not empty) is checked when a study is read.

#include "sim/scenario/options.hpp"
#include "sim/study/schema_object.hpp"
#include "sim/study/search/search_file.hpp"
#include "sim/study/sweep/study_axes.hpp"

namespace headroom {
namespace {

Json axis_schema() {
  const Json number = {{"type", "number"}};
  const Json range = schema_object(
      {{"from", number}, {"to", number}, {"step", {{"type", "number"}, {"exclusiveMinimum", 0}}}},
      {"from", "to", "step"});
  const Json log_range = schema_object({{"from", {{"type", "number"}, {"exclusiveMinimum", 0}}},
                                        {"to", {{"type", "number"}, {"exclusiveMinimum", 0}}},
                                        {"points", {{"type", "integer"}, {"minimum", 2}}}},
                                       {"from", "to", "points"});
  Json axis = schema_object(
      {{"path",
        {{"description", "option or section of the scenario: engine.max_num_seqs"},
         {"anyOf", Json::array({{{"enum", option_paths()}}, {{"type", "string"}}})}}},
       {"values", {{"description", "list of values"}, {"type", "array"}, {"minItems", 1}}},
       {"range", range},
       {"log_range", log_range}},
      {"path"});
  axis["oneOf"] = Json::array(
      {{{"required", {"values"}}}, {{"required", {"range"}}}, {{"required", {"log_range"}}}});
  axis["description"] =
      "one option and its values; the values of a log_range have equal ratios, rounded to 6 "
      "digits, or to whole numbers for integer options";
  return axis;
}

Json conditions_schema(const char* description) {
  return {{"description", description},
          {"type", "array"},
          {"minItems", 1},
          {"items",
           {{"description",
             "varied paths with a value, or with comparisons (==, !=, <, <=, >, >=, in) to a value "
             "or to {\"axis\": path}; all must hold"},
            {"type", "object"},
            {"minProperties", 1}}}};
}

}  // namespace

Json study_schema() {
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                 {"title", "Headroom study"},
                 {"type", "object"},
                 {"additionalProperties", false}};
  Json& p = schema["properties"];
  p["$schema"] = {{"type", "string"}};
  p["name"] = {{"description", "name of the study; when absent: the file's name"},
               {"type", "string"}};
  p["description"] = {{"description", "for people"}, {"type", "string"}};
  p["base"] = {{"description",
                "the scenario to vary: a file, a name from `headroom list scenarios`, or the "
                "scenario itself"},
               {"type", {"string", "object"}}};
  p["vary"] = {
      {"description",
       "axes; every combination is a point of the study, and the last axis varies fastest"},
      {"type", "array"},
      {"items",
       {{"anyOf", Json::array({{{"$ref", "#/$defs/axis"}},
                               schema_object({{"zip",
                                               {{"description", "axes that advance together"},
                                                {"type", "array"},
                                                {"minItems", 2},
                                                {"items", {{"$ref", "#/$defs/axis"}}}}}},
                                             {"zip"})})}}}};
  p["skip_if"] = conditions_schema("a point is left out when one of these holds");
  p["only_if"] = conditions_schema("a point is left out unless all of these hold");
  p["replications"] = {
      {"description", "runs per point, with seeds seed, seed + 1, ... of the scenario"},
      {"type", "integer"},
      {"minimum", 1},
      {"maximum", kMaxReplications},
      {"default", 1}};
  p["seeds"] = {{"description", "seeds of the runs of each point, in place of replications"},
                {"type", "array"},
                {"minItems", 1},
                {"items", {{"type", "integer"}, {"minimum", 0}}}};
  p["search"] = searches_schema();
  schema["required"] = Json::array({"base"});
  schema["$defs"] = {{"axis", axis_schema()}};
  return schema;
}

}  // namespace headroom
