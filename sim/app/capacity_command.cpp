#include "sim/app/capacity_command.hpp"

#include <fmt/format.h>

#include <string_view>

#include "sim/app/list.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/memory/capacity.hpp"
#include "sim/memory/capacity_systems.hpp"
#include "sim/report/capacity_report.hpp"

namespace headroom {
namespace {

// The document's example of a device; the geometry does not depend on it.
constexpr const char* kWorksheetDevice = "h100-sxm";
constexpr double kGb = 1e9;

void check_size(std::string_view flag, std::optional<double> value) {
  if (!value || *value >= 0) return;  // NaN is refused, too
  throw ConfigError(fmt::format("{} {}: expected 0 or more", flag, *value));
}

// Refused even where the answer has no use for them.
void check_figures(const CapacityArguments& arguments) {
  if (arguments.concurrency && *arguments.concurrency < 1) {
    throw ConfigError(
        fmt::format("--concurrency {}: expected at least 1 request", *arguments.concurrency));
  }
  check_size("--weights-gb", arguments.weights_gb);
  check_size("--gpu-memory-gb", arguments.gpu_memory_gb);
  check_size("--overhead-gb", arguments.overhead_gb);
  check_size("--kv-bytes-per-token", arguments.kv_bytes_per_token);
}

// The engine's rule knows these figures itself.
void check_worksheet_flags(const CapacityArguments& arguments) {
  const auto refuse = [](std::string_view flag, double value, std::string_view why) {
    throw ConfigError(
        fmt::format("{} {}: has no effect without --worksheet: {}", flag, value, why));
  };
  if (arguments.concurrency) {
    refuse("--concurrency", static_cast<double>(*arguments.concurrency),
           "capacity itself says how many requests of each --context are served together");
  }
  if (arguments.weights_gb) {
    refuse("--weights-gb", *arguments.weights_gb, "the model's geometry says what it weighs");
  }
  if (arguments.gpu_memory_gb) {
    refuse("--gpu-memory-gb", *arguments.gpu_memory_gb,
           "--set device.memory_total_gib=... changes a device's memory");
  }
  if (arguments.overhead_gb) {
    refuse("--overhead-gb", *arguments.overhead_gb, "the engine's rule has overheads of its own");
  }
}

SystemSelection selection_of(const CapacityArguments& arguments) {
  return {arguments.models,       arguments.devices, arguments.engines,
          arguments.environments, arguments.set,     arguments.scenario};
}

WorksheetInput worksheet_input(const CapacityArguments& arguments, const WorksheetModel* known,
                               Scenario scenario, const Catalog& catalog) {
  WorksheetInput input;
  input.overhead_gb = arguments.overhead_gb.value_or(kWorksheetOverheadGb);
  input.concurrent_requests = arguments.concurrency.value_or(1);
  input.weights_gb = arguments.weights_gb;
  if (known != nullptr) {
    input.kv_gb_per_token = known->kv_gb_per_token;
    if (!input.weights_gb) input.weights_gb = known->weights_gb;
  }
  if (arguments.kv_bytes_per_token) input.kv_gb_per_token = *arguments.kv_bytes_per_token / kGb;
  const bool has_device = !scenario.device.name.empty();
  if (!has_device) scenario.device.name = kWorksheetDevice;
  const Resolved system = resolve_system(scenario, catalog);
  input.model = known != nullptr ? std::string(known->name) : system.model.id;
  fill_from_system(input, system);
  if (has_device) {
    input.gpu_memory_gb = static_cast<double>(system.device.memory_reported_bytes) / kGb;
  }
  if (arguments.gpu_memory_gb) input.gpu_memory_gb = *arguments.gpu_memory_gb;
  return input;
}

std::vector<Worksheet> worksheets(const CapacityArguments& arguments, const Catalog& catalog) {
  if (arguments.usable_fraction) {
    throw ConfigError("--usable-fraction: has no meaning with --worksheet");
  }
  std::vector<std::string> models = split_list(arguments.models);
  if (models.empty()) models.emplace_back();  // the scenario's
  std::vector<Worksheet> sheets;
  for (const std::string& model : models) {
    const WorksheetModel* known = worksheet_model(model);
    SystemSelection selection = selection_of(arguments);
    selection.models = {known != nullptr ? std::string(known->catalog_id) : model};
    for (const Scenario& scenario : select_systems(selection)) {
      WorksheetInput input = worksheet_input(arguments, known, scenario, catalog);
      for (const std::int64_t tokens : parse_contexts(arguments.contexts)) {
        input.context_tokens = tokens;
        sheets.push_back(make_worksheet(input));
      }
    }
  }
  return sheets;
}

}  // namespace

std::string capacity_command(const CapacityArguments& arguments) {
  check_figures(arguments);
  const Catalog catalog = load_catalog(arguments.catalog);
  if (arguments.worksheet) {
    const std::vector<Worksheet> sheets = worksheets(arguments, catalog);
    return arguments.json ? worksheet_json(sheets) : worksheet_text(sheets);
  }
  check_worksheet_flags(arguments);
  CapacityQuery query;
  query.systems = select_systems(selection_of(arguments));
  query.contexts = parse_contexts(arguments.contexts);
  query.kv_bytes_per_token = arguments.kv_bytes_per_token;
  query.usable_fraction = arguments.usable_fraction;
  const std::vector<CapacityRow> rows = capacity(query, catalog);
  return arguments.json ? capacity_json(rows) : capacity_text(rows);
}

}  // namespace headroom
