// `headroom from`: a scenario from what a user runs.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "sim/app/command.hpp"
#include "sim/app/input_text.hpp"
#include "sim/engines/engine_metrics.hpp"
#include "sim/engines/engines.hpp"
#include "sim/intake/from.hpp"
#include "sim/kernel/visible_text.hpp"
#include "sim/memory/audit_log.hpp"
#include "sim/report/json/json_text.hpp"
#include "sim/scenario/options.hpp"
#include "sim/scenario/scenario_file.hpp"

namespace headroom {
namespace {

struct FromArguments {
  // A command, all of it one text, or a file: compose.yaml, a command in a script, the log of a
  // start-up, or one or two dumps of /metrics.
  std::vector<std::string> source;
  std::vector<std::string> unknown;  // flags that are none of ours
  std::string device;                // catalog name; a command does not name one
  std::string service;               // of a compose file
  std::vector<std::string> set;      // path=value, overrides the result
  bool json = false;                 // scenario, lists and notes as one JSON object
};

// What came from standard input was taken just now.
double modified_s(const std::string& path) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const double now_s = std::chrono::duration<double>(now).count();
  if (path == kStandardInput) return now_s;
  const auto since =
      std::filesystem::last_write_time(path) - std::filesystem::file_time_type::clock::now();
  return now_s + std::chrono::duration<double>(since).count();
}

// The name tells, or in standard input, which has none, the first key of such a file.
bool is_compose(const std::string& path, const std::string& text) {
  if (path == kStandardInput) {
    return text.starts_with("services:") || text.find("\nservices:") != std::string::npos;
  }
  const std::string extension = std::filesystem::path(path).extension().string();
  return extension == ".yml" || extension == ".yaml";
}

bool is_metrics(const std::string& text) {
  if (text.starts_with("# HELP")) return true;
  return std::ranges::any_of(engines(), [&](const Engine* engine) {
    if (engine->metrics == nullptr) return false;
    const std::string prefix(engine->metrics->prefix);
    return text.starts_with(prefix) || text.find("\n" + prefix) != std::string::npos;
  });
}

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

FromResult from_metrics(const std::vector<std::string>& files, const std::string& text,
                        const std::string& release) {
  std::istringstream first(text);
  MetricsTimes times;
  times.taken_unix_s = modified_s(files.back());
  if (files.size() == 1) return scenario_from_metrics(first, files.front(), times, release);
  times.earlier_unix_s = modified_s(files.front());
  std::istringstream last(input_text(files.back()));
  return scenario_from_metrics(first, last, files.back(), times, release);
}

// What the log says, without what the engine's rules filled in.
FromResult from_log(const FromArguments& arguments, const std::string& text) {
  const std::string& file = arguments.source.front();
  std::istringstream stream(text);
  LogAuditQuery query;
  query.device = arguments.device;
  const LogAudit audit = audit_log(read_startup_log(stream, file), query, Catalog::embedded());
  const Resolved& resolved = audit.system.resolved;
  FromResult result;
  result.engine = std::string(resolved.engine->name);
  result.notes = audit.assumptions;
  result.scenario = Json::object();
  for (const OptionRow& row : all_options()) {
    const std::string pointer(row.pointer);
    const Json value = value_of(row, resolved.scenario);
    const bool filled = resolved.rules.contains(pointer);
    if (filled || value.is_null() || value == value_of(row, Scenario{})) continue;
    result.scenario[Json::json_pointer(pointer)] = value;
  }
  return result;
}

// engine.version of --set, before anything is read: it decides what flags mean.
std::string release_given(const FromArguments& arguments) {
  JsonDocument document{"from", Json::object(), {}};
  for (const std::string& assignment : arguments.set) set_option(document, assignment);
  const Json::json_pointer version("/engine/version");
  const bool given = document.root.contains(version) && document.root.at(version).is_string();
  return given ? document.root.at(version).get<std::string>() : std::string();
}

FromResult read(const FromArguments& arguments) {
  const std::string release = release_given(arguments);
  const std::vector<std::string>& source = arguments.source;
  const std::string& first = source.front();
  if (!is_input(first)) return scenario_from_command(first, "command", release);
  const std::string text = input_text(first);
  const bool compose = is_compose(first, text);
  if (!compose && is_metrics(text)) {
    if (source.size() > 2) throw ConfigError("from: expected one or two dumps of /metrics");
    return from_metrics(source, text, release);
  }
  if (source.size() > 1) {
    throw ConfigError(fmt::format("from {}: expected one file, or two dumps of /metrics", first));
  }
  if (compose) {
    std::istringstream stream(text);
    return scenario_from_compose(stream, first, arguments.service, release);
  }
  if (holds_log_lines(text)) return from_log(arguments, text);
  return scenario_from_command(text, first, release);
}

void add_comment(std::string& text, const std::string& title,
                 const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  text += fmt::format("// {}\n", title);
  for (const std::string& line : lines) text += fmt::format("//   {}\n", visible_text(line));
}

std::string from_command(const FromArguments& arguments) {
  check_words(arguments);
  FromResult result = read(arguments);
  JsonDocument document{"from", std::move(result.scenario), {}};
  if (!arguments.device.empty()) document.root["device"] = arguments.device;
  for (const std::string& assignment : arguments.set) set_option(document, assignment);
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
                     "'vllm serve ...' or another engine's command, compose.yaml, /metrics, a log; "
                     "- is standard input");
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
