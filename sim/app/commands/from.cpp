// `headroom from`: a scenario from what a user runs.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "hardware/catalog.hpp"
#include "hardware/checkpoint_names.hpp"
#include "sim/app/command.hpp"
#include "sim/app/engine_source.hpp"
#include "sim/app/input_text.hpp"
#include "sim/app/shared_source.hpp"
#include "sim/intake/from.hpp"
#include "sim/kernel/visible_text.hpp"
#include "sim/report/json/json_text.hpp"
#include "sim/scenario/options.hpp"
#include "sim/scenario/scenario_file.hpp"

namespace headroom {
namespace {

struct FromArguments {
  // A command, all of it one text, or a file: compose.yaml, a command in a script, the log of a
  // start-up; files of one deployment; or one or two dumps of /metrics.
  std::vector<std::string> source;
  std::vector<std::string> unknown;  // flags that are none of ours
  std::string device;                // catalog name; a command does not name one
  std::string service;               // of a compose file
  std::vector<std::string> set;      // path=value, overrides the result
  bool json = false;                 // scenario, lists and notes as one JSON object
};

// A command in several words has lost its order: its flags stand apart, and ours may be among them.
void check_words(const FromArguments& arguments) {
  constexpr std::string_view kQuotes = "quote the whole command: headroom from 'vllm serve ...'";
  const std::vector<std::string>& source = arguments.source;
  if (!arguments.unknown.empty()) {
    throw ConfigError(fmt::format("from: {}: unknown flag; if it belongs to the engine, {}",
                                  arguments.unknown.front(), kQuotes));
  }
  if (source.empty()) throw ConfigError("from: a command or a file is missing");
  if (source.size() > 1 && !is_input(source.front())) {
    throw ConfigError(
        fmt::format("from: more than one word after '{}'; {}", source.front(), kQuotes));
  }
  const auto missing = std::ranges::find_if_not(source.begin() + 1, source.end(), is_input);
  if (missing != source.end())
    throw ConfigError(
        Complaint{.kind = ErrorKind::unreadable, .origin = *missing, .problem = "no such file"});
}

// What the services that start before this one hold of its device, which is its memory used.
void count_others(const FromArguments& arguments, FromResult& result) {
  if (arguments.device.empty()) {
    result.notes.emplace_back(
        "other services of the file start engines, too: with --device, what they hold of a shared "
        "device counts");
    return;
  }
  const SharedServices all = shared_services(arguments.source.front(), arguments.device,
                                             arguments.set, Catalog::embedded(), arguments.service);
  const DescribedSystem& own = service_named(all, arguments.service).system;
  result.scenario = own.document.json.root;
  result.notes = own.assumed;
}

void add_comment(std::string& text, const std::string& title,
                 const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  text += fmt::format("// {}\n", title);
  for (const std::string& line : lines) text += fmt::format("//   {}\n", visible_text(line));
}

// A model that neither the catalog nor a file has: whoever runs the scenario must bring it.
void note_unknown_model(const Json& scenario, std::vector<std::string>& notes) {
  const auto model = scenario.find("model");
  if (model == scenario.end() || !model->is_string()) return;
  const std::string name = model->get<std::string>();
  const Catalog catalog = Catalog::embedded();
  std::error_code no_error;
  if (catalog.has_model(name) || std::filesystem::exists(name, no_error) ||
      find_checkpoint(catalog, name)) {
    return;
  }
  notes.push_back(fmt::format("the model {} is not in the catalog ({})", name, kOwnModelHint));
}

std::string from_command(const FromArguments& arguments) {
  check_words(arguments);
  FromResult result = scenario_from_source(
      {arguments.source, arguments.device, arguments.service, release_given(arguments.set)});
  const bool beside_others =
      !arguments.service.empty() && starts_several(arguments.source.front(), arguments.service);
  if (beside_others) count_others(arguments, result);
  JsonDocument document{"from", std::move(result.scenario), {}};
  if (!arguments.device.empty() && !beside_others) document.root["device"] = arguments.device;
  for (const std::string& assignment : arguments.set) {
    if (beside_others && !arguments.device.empty()) continue;  // count_others did
    const std::optional<std::string> setting = setting_for(arguments.service, assignment);
    if (!beside_others || setting) set_option(document, setting.value_or(assignment));
  }
  note_unknown_model(document.root, result.notes);
  if (arguments.json) {
    const Json all = {{"scenario", document.root},
                      {"unknown_flags", result.unknown_flags},
                      {"ignored_flags", result.ignored_flags},
                      {"notes", result.notes}};
    return json_text(all);
  }
  std::string text;
  add_comment(text, "Unknown flags, left out below:", result.unknown_flags);
  add_comment(text, "Ignored, no effect on memory or scheduling:", result.ignored_flags);
  add_comment(text, "Assumed:", result.notes);
  if (!document.root.contains("device")) text += "// Add \"device\" (or use --device)\n";
  if (!document.root.contains("workload")) {
    text += "// Add \"workload\" for `headroom run`; capacity and audit do not need it\n";
  }
  return text + json_text(document.root);
}

std::function<int()> add_from(CLI::App& command) {
  const auto a = std::make_shared<FromArguments>();
  command.add_option("source", a->source,
                     "'vllm serve ...' or another engine's command, compose.yaml, Kubernetes "
                     "objects, Helm values, systemd units, /metrics, a log; - is standard input");
  command.add_option("--device", a->device,
                     "catalog id of the device, which an engine's command does not name");
  command.add_option("--service", a->service, "for a compose file: the service to read");
  command.add_option("--set", a->set, "path=value, overrides the result")->allow_extra_args(false);
  command.add_flag("--json", a->json, "print the scenario, unknown flags and notes as JSON");
  command.allow_extras();  // flags of a command without quotes: refused with what to write instead
  return [a, &command] {
    if (std::ranges::count(a->source, "-") > 1) {
      throw ConfigError("from: only one input can be standard input");
    }
    std::ranges::transform(a->source, a->source.begin(), input_path);
    a->unknown = command.remaining();
    std::erase(a->unknown, "--");          // which only says that words follow
    return print(from_command(*a), true);  // JSON, with comments
  };
}

}  // namespace

const Command kFromCommand{"from", "make a scenario from an engine you already run", add_from};

}  // namespace headroom
