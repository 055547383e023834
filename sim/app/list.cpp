#include "sim/app/list.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <utility>

#include "hardware/llm/kv_geometry.hpp"
#include "hardware/llm/parameters.hpp"
#include "sim/engines/engines.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/nearest_name.hpp"
#include "sim/report/terminal.hpp"
#include "sim/scenario/options.hpp"
#include "sim/scenario/scenario_file.hpp"
#include "sim/study/plan/plan_file.hpp"
#include "sim/study/sweep/study_file.hpp"

namespace headroom {
namespace {

std::string list_models(const Catalog& catalog) {
  std::string out = fmt::format("{:<28}{:>11}{:>11}{:>16}{:>12}\n", "model", "parameters", "active",
                                "KV B/token", "context");
  for (const std::string& id : catalog.model_ids()) {
    const ModelSpec model = catalog.model(id);
    out += fmt::format("{:<28}{:>9.1f} B{:>9.1f} B{:>16}{:>12}\n", id,
                       static_cast<double>(params_total(model)) / 1e9,
                       static_cast<double>(params_active(model)) / 1e9,
                       human_count(kv_bytes_per_token(model, {}, {})),
                       human_count(model.max_position));
  }
  return out;
}

std::string list_devices(const Catalog& catalog) {
  std::string out =
      fmt::format("{:<28}{:>14}{:>13}{:>18}\n", "device", "memory", "bandwidth", "16-bit dense");
  for (const std::string& id : catalog.device_ids()) {
    const DeviceSpec& device = catalog.device(id);
    out += fmt::format("{:<28}{:>14}{:>8.0f} GB/s{:>11.0f} TFLOP/s\n", id,
                       human_bytes(device.memory_reported_bytes),
                       device.bandwidth_bytes_per_s / 1e9, device.fp16_flops / 1e12);
  }
  return out;
}

std::string list_environments(const Catalog& catalog) {
  std::string out;
  for (const std::string& id : catalog.environment_ids()) {
    const Environment& environment = catalog.environment(id);
    out += fmt::format("{}{}\n    {}\n    {}\n", id, environment.scored ? "" : " (unscored)",
                       environment.title, environment.source);
  }
  return out;
}

std::string list_calibrations(const Catalog& catalog) {
  std::string out;
  for (const auto& [id, row] : catalog.calibrations()) {
    out += fmt::format("{}\n    {}, {} {} {}\n", id, row.device.empty() ? "any device" : row.device,
                       row.engine.empty() ? "any engine" : row.engine, row.engine_versions,
                       name_of(row.mode));
  }
  return out;
}

std::string list_engines() {
  std::string out;
  for (const Engine* engine : engines()) {
    const std::string shown =
        engine->measured.empty() ? "specified only" : fmt::format("measured: {}", engine->measured);
    out += fmt::format("{:<17} {:<8} {:<25} {} [budget {}, scheduler {}, KV {}]\n", engine->name,
                       engine->version, shown, engine->summary, engine->budget_rule,
                       engine->scheduler, engine->allocator);
  }
  return out;
}

std::string list_files(std::span<const EmbeddedFile> files) {
  std::string out;
  for (const EmbeddedFile& file : files) {
    const std::string name = std::filesystem::path(file.name).stem().string();
    const Json root = parse_json(file.content, name).root;
    out += fmt::format("{}\n    {}\n", name, root.value("description", ""));
  }
  return out;
}

}  // namespace

Catalog load_catalog(const std::string& directory) {
  Catalog catalog = Catalog::embedded();
  if (!directory.empty()) catalog.overlay(directory);
  return catalog;
}

std::string list_text(const std::string& kind, const std::string& catalog_directory) {
  if (kind == "engines") return list_engines();
  if (kind == "options") return options_table();
  if (kind == "scenarios") return list_files(scenario_files());
  if (kind == "studies") return list_files(study_files());
  if (kind == "plans") return list_files(plan_files());
  if (kind == "plan-schema") return plan_schema().dump(2) + "\n";
  if (kind == "schema") return scenario_schema().dump(2) + "\n";
  if (kind == "study-schema") return study_schema().dump(2) + "\n";
  if (kind == "models") return list_models(load_catalog(catalog_directory));
  if (kind == "devices") return list_devices(load_catalog(catalog_directory));
  if (kind == "environments") return list_environments(load_catalog(catalog_directory));
  if (kind == "calibrations") return list_calibrations(load_catalog(catalog_directory));
  const std::vector<std::string> kinds{"models",       "devices", "engines",      "environments",
                                       "calibrations", "options", "scenarios",    "studies",
                                       "plans",        "schema",  "study-schema", "plan-schema"};
  const std::string nearest = nearest_name(kind, kinds);
  throw ConfigError(fmt::format("list {}: expected one of {}{}", kind, kListKinds,
                                nearest.empty() ? "" : fmt::format(" (nearest: {})", nearest)));
}

}  // namespace headroom
