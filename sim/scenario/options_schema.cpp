// What is published from the option tables: the JSON Schema and the table of `list options`.

#include <fmt/format.h>

#include "sim/scenario/fleet_lists.hpp"
#include "sim/scenario/options.hpp"

namespace headroom {
namespace {

constexpr std::string_view kFaultsOfFleet = "/fleet/faults/";

std::string schema_type(const OptionRow& row) {
  std::string type = type_name(row);
  if (type == "true or false") return "boolean";
  if (type == "text") return "string";
  if (type.starts_with("list of ")) return "array";
  return type;
}

void add_bounds(const Bounds& bounds, Json& target) {
  if (bounds.low > -kNoBound) target[bounds.low_open ? "exclusiveMinimum" : "minimum"] = bounds.low;
  if (bounds.high < kNoBound) {
    target[bounds.high_open ? "exclusiveMaximum" : "maximum"] = bounds.high;
  }
}

std::string described(const OptionRow& row) {
  std::string text(row.doc);
  if (!row.unit.empty()) text += fmt::format(" [{}]", row.unit);
  if (!row.absent.empty()) text += fmt::format("; when absent: {}", row.absent);
  if (!row.only_with.empty()) text += fmt::format("; only with {}", row.only_with);
  return text;
}

// A number may be written with its unit: "32k", "2s", "85%".
constexpr std::string_view kShortNumber = "^[0-9.]+ ?[A-Za-z%]+$";

Json option_schema(const OptionRow& row) {
  Json schema = Json::object();
  const std::string type = schema_type(row);
  schema["description"] = described(row);
  Json types = Json::array({type});
  if (type == "integer" || type == "number") {
    types.push_back("string");
    schema["pattern"] = kShortNumber;
  }
  if (is_optional(row)) types.push_back("null");
  schema["type"] = types.size() == 1 ? types.front() : types;
  if (type == "array") {
    schema["items"] = {{"type", type_name(row) == "list of numbers" ? "number" : "integer"}};
    schema["minItems"] = 1;
    add_bounds(row.bounds, schema["items"]);
  } else {
    add_bounds(row.bounds, schema);
  }
  if (!row.choices.empty()) {
    Json choices(choices_of(row));
    if (is_optional(row)) choices.push_back(nullptr);
    schema["enum"] = std::move(choices);
  }
  const Json default_value = value_of(row, Scenario{});
  const bool meant =
      !default_value.is_null() && default_value != "" && default_value != Json::array();
  if (meant) schema["default"] = default_value;
  return schema;
}

std::string default_text(const OptionRow& row) {
  const Json value = value_of(row, Scenario{});
  if (value.is_null() || value == "" || value == Json::array()) {
    return row.absent.empty() ? "-" : std::string(row.absent);
  }
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string dotted(std::string_view pointer) {
  std::string path(pointer.substr(1));
  for (char& c : path) c = c == '/' ? '.' : c;
  return path;
}

// A section with a main option may be written as the value of that.
Json section_type(std::string_view pointer) {
  const OptionRow* main = find_option(fmt::format("{}/{}", pointer, main_key(pointer)));
  if (main == nullptr || pointer == "/workload") return "object";
  return schema_type(*main) == "string" ? Json::array({"object", "string"})
                                        : Json::array({"object", "number", "string"});
}

Json list_schema(std::string_view pointer, std::string_view doc, const Json& required) {
  Json element = {{"type", "object"}, {"additionalProperties", false}};
  for (const OptionRow& row : fleet_element_options()) {
    if (!row.pointer.starts_with(std::string(pointer) + "/")) continue;
    Json& property = element["properties"][std::string(row.pointer.substr(pointer.size() + 1))];
    property["description"] = described(row);
    const std::string type = schema_type(row);
    property["type"] = is_optional(row) ? Json::array({type, "null"}) : Json(type);
    if (type == "array") {
      property["items"] = {{"type", type_name(row) == "list of texts" ? "string" : "integer"}};
      property["minItems"] = 1;
      add_bounds(row.bounds, property["items"]);
    } else {
      add_bounds(row.bounds, property);
    }
    if (!row.choices.empty()) property["enum"] = choices_of(row);
  }
  element["required"] = required;
  return {{"description", doc}, {"type", "array"}, {"minItems", 1}, {"items", std::move(element)}};
}

void add_fleet_lists(Json& properties) {
  Json& fleet = properties["fleet"]["properties"];
  Json groups = list_schema("/fleet/groups",
                            "replicas of several kinds; a group overrides values of the scenario",
                            Json::array({"name"}));
  for (const char* key : {"model", "model_override", "device", "environment", "engine", "cost"}) {
    groups["items"]["properties"][key] = properties[key];
  }
  fleet["groups"] = std::move(groups);
  for (const FleetList& list : fleet_lists()) {
    const bool of_faults = list.pointer.starts_with(kFaultsOfFleet);
    Json& section = of_faults ? fleet["faults"]["properties"] : fleet;
    const std::string name(list.pointer.substr(list.pointer.rfind('/') + 1));
    section[name] = list_schema(list.pointer, list.doc, Json(list.required));
  }
}

}  // namespace

Json scenario_schema() {
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                 {"title", "Headroom scenario"},
                 {"type", "object"},
                 {"additionalProperties", false}};
  schema["properties"]["$schema"] = {{"type", "string"}};
  for (const OptionRow& row : all_options()) {
    Json* node = &schema;
    std::string_view rest = row.pointer.substr(1);
    for (std::size_t slash = rest.find('/'); slash != std::string_view::npos;
         slash = rest.find('/')) {
      node = &(*node)["properties"][std::string(rest.substr(0, slash))];
      (*node)["type"] =
          section_type(row.pointer.substr(0, row.pointer.size() - rest.size() + slash));
      (*node)["additionalProperties"] = false;
      rest.remove_prefix(slash + 1);
    }
    (*node)["properties"][std::string(rest)] = option_schema(row);
  }
  // A class has the options of a workload, and an SLO.
  Json of_class = schema["properties"]["workload"];
  of_class["properties"]["slo"] = schema["properties"]["slo"];
  schema["properties"]["workload"]["properties"]["classes"] = {
      {"description", "classes of requests, each with its own options"},
      {"type", "array"},
      {"minItems", 1},
      {"items", std::move(of_class)}};
  add_fleet_lists(schema["properties"]);
  schema["required"] = Json::array({"model", "device", "workload"});
  return schema;
}

std::string options_table() {
  std::string table;
  for (const OptionRow& row : all_options()) {
    const std::string unit = row.unit.empty() ? "" : fmt::format(" [{}]", row.unit);
    table += fmt::format("{}{}\n    {}; default: {}\n    {}\n", dotted(row.pointer), unit, row.doc,
                         default_text(row), allowed_text(row));
    if (!row.only_with.empty()) table += fmt::format("    only with {}\n", dotted(row.only_with));
  }
  for (const OptionRow& row : fleet_element_options()) {
    const std::string unit = row.unit.empty() ? "" : fmt::format(" [{}]", row.unit);
    table += fmt::format("{}{} (of each in the list)\n    {}; default: {}\n    {}\n",
                         dotted(row.pointer), unit, row.doc,
                         row.absent.empty() ? "-" : std::string(row.absent), allowed_text(row));
  }
  return table;
}

}  // namespace headroom
