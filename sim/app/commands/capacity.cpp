// `headroom capacity`: what fits, without traffic.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/app/command.hpp"
#include "sim/app/commands/short_flag.hpp"
#include "sim/app/list.hpp"
#include "sim/app/next_step.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/memory/capacity.hpp"
#include "sim/memory/capacity_systems.hpp"
#include "sim/memory/worksheet.hpp"
#include "sim/report/json/capacity_json.hpp"
#include "sim/report/text/capacity_report.hpp"

namespace headroom {
namespace {

struct CapacityArguments {
  // Several names between commas, or the flag several times; the cross product is compared.
  std::vector<std::string> models;
  std::vector<std::string> devices;
  std::vector<std::string> engines;  // name or name@version
  std::vector<std::string> environments;
  std::vector<std::string> contexts{"2048,8192,32768,131072"};  // tokens; k is x 1024
  std::vector<std::string> set;                                 // path=value
  std::string scenario;                                         // optional base
  std::optional<double> kv_bytes_per_token;                     // of the whole model
  std::optional<double> usable_fraction;  // pool = F x (device memory - weights)
  std::string catalog;                    // folder that overrides the embedded one; empty: none
  bool json = false;
  bool quiet = false;
  // The worksheet of seed 002 instead of an engine's rule. Its tensor parallel size is the
  // system's; models may also be its own names (llama_70b).
  bool worksheet = false;
  std::optional<std::int64_t> concurrency;  // requests at a time; absent: 1
  std::optional<double> weights_gb;     // of the whole model; absent: the worksheet's or geometry's
  std::optional<double> gpu_memory_gb;  // absent: the device's, without a device 80
  std::optional<double> overhead_gb;    // absent: kWorksheetOverheadGb
};

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
           "capacity computes how many requests of each --context fit at once");
  }
  if (arguments.weights_gb) {
    refuse("--weights-gb", *arguments.weights_gb,
           "the size of the weights follows from the model's geometry");
  }
  if (arguments.gpu_memory_gb) {
    refuse("--gpu-memory-gb", *arguments.gpu_memory_gb,
           "to change a device's memory use --set device.memory_total_gib=...");
  }
  if (arguments.overhead_gb) {
    refuse("--overhead-gb", *arguments.overhead_gb, "the engine's rule includes its own overheads");
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
    throw ConfigError("--usable-fraction: has no effect with --worksheet");
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

// The same systems, under traffic.
std::string next_after_capacity(const CapacityArguments& a) {
  if (a.worksheet) {
    return next_line("help capacity", "without --worksheet it takes the engine's own rule");
  }
  std::string command = "ask";
  if (!a.scenario.empty()) {
    const auto words = scenario_words(a.scenario, a.set);
    return words ? next_line("ask " + *words, "does it hold its traffic, and what helps most") : "";
  }
  const auto add = [&command](std::string_view flag, const std::vector<std::string>& values) {
    for (const std::string& value : values) {
      command += fmt::format(" {} {}", flag, shell_word(value));
    }
  };
  add("--model", a.models);
  add("--device", a.devices);
  if (a.engines.size() == 1 && a.engines.front().find(',') == std::string::npos) {
    add("--engine", a.engines);
  }
  add("--set", a.set);
  return next_line(command + " --rate 5", "does it hold traffic, and what helps most");
}

std::string capacity_command(const CapacityArguments& arguments) {
  check_figures(arguments);
  const Catalog catalog = load_catalog(arguments.catalog);
  if (arguments.worksheet) {
    const std::vector<Worksheet> sheets = worksheets(arguments, catalog);
    if (arguments.json) return worksheet_json(sheets);
    return worksheet_text(sheets) + (arguments.quiet ? "" : next_after_capacity(arguments));
  }
  check_worksheet_flags(arguments);
  CapacityQuery query;
  query.systems = select_systems(selection_of(arguments));
  query.contexts = parse_contexts(arguments.contexts);
  query.kv_bytes_per_token = arguments.kv_bytes_per_token;
  query.usable_fraction = arguments.usable_fraction;
  const std::vector<CapacityRow> rows = capacity(query, catalog);
  if (arguments.json) return capacity_json(rows);
  const std::string next = arguments.quiet ? "" : next_after_capacity(arguments);
  return capacity_text(rows) + (next.empty() ? "" : "\n" + next);
}

std::function<int()> add_capacity(CLI::App& command) {
  const auto a = std::make_shared<CapacityArguments>();
  command.add_option("scenario", a->scenario, "scenario to start from (optional)");
  command.add_option("--model", a->models,
                     "catalog id, Hugging Face name, config.json, GGUF file; a,b,...");
  command.add_option("--device", a->devices, "catalog ids: a,b,...");
  command.add_option("--engine", a->engines, "engine or engine@version: a,b,... (vllm)");
  command.add_option("--environment", a->environments, "native,docker,... (native)");
  command.add_option("--context", a->contexts, "tokens per request: 2048,8k,...");
  command.add_option("--set", a->set, "path=value, e.g. engine.tensor_parallel_size=2")
      ->allow_extra_args(false);
  with_short_numbers(command.add_option("--kv-bytes-per-token", a->kv_bytes_per_token,
                                        "use this instead of the value from the model's geometry"),
                     "bytes");
  with_short_numbers(
      command.add_option(
          "--usable-fraction", a->usable_fraction,
          "KV pool = this x (device memory - weights), instead of the engine's rule"),
      "share", kShare);
  command.add_flag("--worksheet", a->worksheet,
                   "the manual sizing worksheet, as written and as corrected");
  with_short_numbers(
      command.add_option("--concurrency", a->concurrency, "for --worksheet: requests at a time"),
      "requests");
  command.add_option("--weights-gb", a->weights_gb, "for --worksheet: weights of the whole model");
  command.add_option("--gpu-memory-gb", a->gpu_memory_gb, "for --worksheet: memory of one device");
  command.add_option("--overhead-gb", a->overhead_gb,
                     "for --worksheet: memory for CUDA and the allocator");
  command.add_option("--catalog", a->catalog, kCatalogHelp);
  command.add_flag("--json", a->json, "print JSON");
  command.add_flag("-q,--quiet", a->quiet, kQuietHelp);
  return [a] { return print(capacity_command(*a), a->json); };
}

}  // namespace

const Command kCapacityCommand{"capacity", "how many requests fit in memory", add_capacity};

}  // namespace headroom
