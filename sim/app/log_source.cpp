#include "sim/app/log_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <utility>

#include "sim/engines/engine_log.hpp"
#include "sim/engines/engines.hpp"
#include "sim/engines/launch.hpp"
#include "sim/engines/log_text.hpp"
#include "sim/engines/startup_log.hpp"
#include "sim/intake/draft.hpp"
#include "sim/intake/printed_arguments.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/nearest_name.hpp"
#include "sim/memory/audit_log.hpp"
#include "sim/scenario/options.hpp"
#include "sim/scenario/scenario_file.hpp"

namespace headroom {
namespace {

bool has_mark_of(const Engine& engine, std::string_view line) {
  const auto is_in = [line](std::string_view mark) { return contains(line, mark); };
  if (engine.log != nullptr && std::ranges::any_of(engine.log->marks, is_in)) return true;
  for (const StartedLines* of = engine.launch->started; of != nullptr; of = of->runs) {
    if (std::ranges::any_of(of->marks, is_in)) return true;
  }
  return false;
}

// Whether a line names a program, a module or an image of the engine: few of a long log do.
bool may_start(const Engine& engine, std::string_view line) {
  const auto is_named = [line](const LaunchProgram& program) {
    return contains(line, program.name);
  };
  const EngineLaunch& launch = *engine.launch;
  return std::ranges::any_of(launch.programs, is_named) ||
         std::ranges::any_of(launch.modules, is_named) ||
         std::ranges::any_of(launch.images, [line](const LaunchImage& image) {
           return contains(line, image.repository);
         });
}

// The command that was pasted in front of the engine's own lines.
std::optional<FromResult> pasted_command(const LogSource& source, const Engine& engine) {
  std::istringstream lines(source.text);
  std::string command;
  for (std::string line; std::getline(lines, line) && !has_mark_of(engine, line);) {
    if (line.ends_with('\r')) line.pop_back();
    command += line;
    if (command.ends_with('\\')) {
      command.back() = ' ';
      continue;
    }
    if (command.starts_with("$ ") || command.starts_with("# ")) command.erase(0, 2);  // a prompt
    try {
      if (may_start(engine, command)) {
        FromResult read = scenario_from_command(command, source.name, source.release);
        if (read.engine == engine.name) return read;
      }
    } catch (const UserError&) {
      // Another line.
    }
    command.clear();
  }
  return std::nullopt;
}

// Why the section of `engine` does not take the value at `pointer`; empty: it does.
std::string refusal(const Json& engine, const std::string& pointer, const Json& value) {
  JsonDocument document{"log", Json::object(), {}};
  for (const char* key : {"name", "version"}) {
    if (engine.contains(key)) document.root["engine"][key] = engine.at(key);
  }
  document.root[Json::json_pointer(pointer)] = value;
  try {
    static_cast<void>(load_scenario({std::move(document), ""}, "log", {}));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return {};
}

// Of all arguments, those that stand at their default say nothing.
void leave_out_defaults(FromResult& given) {
  for (const OptionRow& row : all_options()) {
    const Json::json_pointer pointer{std::string(row.pointer)};
    const bool is_name = row.pointer == "/engine/name" || row.pointer == "/engine/version";
    if (!row.pointer.starts_with("/engine/") || is_name || !given.scenario.contains(pointer)) {
      continue;
    }
    const Json value = given.scenario.at(pointer);
    const std::string refused =
        refusal(given.scenario.at("engine"), std::string(row.pointer), value);
    if (refused.empty() && value != value_of(row, Scenario{})) continue;
    given.scenario.at(pointer.parent_pointer()).erase(pointer.back());
    if (!refused.empty()) {
      given.notes.push_back(fmt::format("{} of the log is left out: {}", row.pointer, refused));
    }
  }
  given.notes.emplace_back(
      "the log prints every argument: those that are not modelled are not listed");
}

// What an assumption is about, where that is an option: "max_num_seqs" of "max_num_seqs: ...".
bool is_settled(const std::string& assumption, const Json& engine) {
  return engine.contains(assumption.substr(0, assumption.find_first_of(": ")));
}

// What a log says that its engine's own reader reads.
void add_startup_log(FromResult& result, const StartupLog& log, const LogSource& source,
                     const Catalog& catalog) {
  LogAuditQuery query;
  query.device = source.device;
  const ToldSystem system = system_of_log(log, query, catalog);
  for (const std::string& note : system.assumptions) {
    if (!is_settled(note, result.scenario.at("engine"))) result.notes.push_back(note);
  }
  for (const OptionRow& row : all_options()) {
    const Json::json_pointer pointer{std::string(row.pointer)};
    const Json value = value_of(row, system.scenario);
    if (value.is_null() || value == value_of(row, Scenario{})) continue;
    if (!result.scenario.contains(pointer)) result.scenario[pointer] = value;
  }
  result.scenario.erase("name");
  if (system.scenario.device.name.empty()) result.scenario.erase("device");
  if (log.starts > 1) {
    result.notes.push_back(fmt::format("{} start-ups in this file; the last is read", log.starts));
  }
}

void add_started_log(FromResult& result, const StartedLog& log, const LogSource& source,
                     const Catalog& catalog) {
  JsonDocument document{source.name, std::move(result.scenario), {}};
  if (!log.model.empty() && !document.root.contains("model")) document.root["model"] = log.model;
  const std::string device =
      source.device.empty() ? device_of_log(log, catalog, result.notes) : source.device;
  if (!device.empty()) document.root["device"] = device;
  StartedLog told = log;
  if (source.failed) {
    told.options.insert(log.options_of_failure.begin(), log.options_of_failure.end());
  }
  add_logged_options(told, document, result.notes);
  result.scenario = std::move(document.root);
}

std::optional<StartupLog> startup_log_of(const LogSource& source) {
  if (!holds_log_lines(source.text)) return std::nullopt;
  std::istringstream stream(source.text);
  try {
    return read_startup_log(stream, source.name, false);
  } catch (const ConfigError&) {
    return std::nullopt;  // another text with such words
  }
}

FromResult engine_alone(const LogSource& source, const Engine& engine) {
  Draft draft(source.name);
  draft.engine = &engine;
  return finished(std::move(draft), source.release);
}

}  // namespace

std::optional<FromResult> arguments_of_log(const LogSource& source, const Engine& engine) {
  std::optional<PrintedStartup> printed =
      scenario_from_printed(source.text, source.name, source.release);
  if (!printed || printed->result.engine != engine.name) return pasted_command(source, engine);
  if (printed->has_defaults) leave_out_defaults(printed->result);
  return std::move(printed->result);
}

std::optional<EngineSection> options_of_log(const LogSource& source, const Engine& engine,
                                            std::vector<std::string>& notes) {
  try {
    const std::optional<FromResult> given = arguments_of_log(source, engine);
    if (!given) return std::nullopt;
    JsonDocument document{source.name, Json::object(), {}};
    document.root["engine"] = given->scenario.at("engine");
    for (const char* key : {"model", "device"}) document.root[key] = "unknown";
    return load_scenario({document, ""}, source.name, {}).engine;
  } catch (const UserError& error) {
    notes.push_back(fmt::format("the arguments of the log are left out: {}", error.what()));
    return std::nullopt;
  }
}

std::string device_of_log(const StartedLog& log, const Catalog& catalog,
                          std::vector<std::string>& notes) {
  if (log.has_several_boards) return {};
  const auto& total = log.figure(StartFigure::total);
  const std::vector<std::string> fitting =
      total ? devices_of_total(catalog, *total) : std::vector<std::string>{};
  if (!log.board.empty()) {
    // Of several devices of one chip the one with that memory: "Apple M4 Max (40c GPU, 48GB)".
    std::vector<std::string> same;
    std::ranges::copy_if(fitting, std::back_inserter(same), [&](const std::string& id) {
      return catalog.device(id).name.starts_with(log.board + " (");
    });
    if (same.size() == 1) return same.front();
    try {
      return catalog.device(log.board).id;
    } catch (const ConfigError& error) {
      notes.push_back(fmt::format("the log's board: {}", error.what()));
    }
  }
  if (fitting.empty()) return {};
  notes.push_back(
      fmt::format("device {}: guessed from {:.2f} GiB in total ({}); use --device to name it",
                  fitting.front(), *total, comma_list(fitting)));
  return fitting.front();
}

void add_logged_options(const StartedLog& log, JsonDocument& document,
                        std::vector<std::string>& notes) {
  std::map<std::string, std::string> options = log.options;
  const auto model = document.root.find("model");
  const bool is_gguf = model != document.root.end() && model->is_string() &&
                       model->get<std::string>().ends_with(".gguf");
  if (is_gguf) options.erase("quantization");  // its name says it
  if (log.devices > 1 && log.engine->traits.devices_share_layers) {
    options["pipeline_parallel_size"] = std::to_string(log.devices);
  }
  for (const auto& [option, value] : options) {
    if (document.root["engine"].contains(option)) continue;
    const std::string assignment = fmt::format("engine.{}={}", option, value);
    JsonDocument tried = document;
    try {
      set_option(tried, assignment);
      static_cast<void>(load_scenario({tried, ""}, document.name, {}));
      document = std::move(tried);
    } catch (const ConfigError& error) {
      notes.push_back(fmt::format("{} of the log is left out: {}", assignment, error.what()));
    }
  }
}

Complaint no_model_loaded(const std::string& name, const Engine& engine) {
  return {
      .origin = name,
      .problem = fmt::format("a log of {} that says nothing of memory: no model was loaded yet, "
                             "or the log is cut",
                             engine.launch->title)};
}

std::optional<FromResult> scenario_from_log(const LogSource& source, const Catalog& catalog) {
  LogSource read = source;
  const std::optional<StartupLog> log = startup_log_of(source);
  const std::optional<StartedLog> started = log ? std::nullopt : find_started_log(source.text);
  if (!log && !started) {
    const auto printed = scenario_from_printed(source.text, source.name, source.release);
    if (!printed) return std::nullopt;
    return arguments_of_log(source, engine_named(printed->result.engine));
  }
  const Engine& engine = log ? *log->engine : *started->engine;
  if (read.release.empty()) {
    if (log && log->version) read.release = log->version->value;
    if (started && started->options.contains("version")) {
      read.release = started->options.at("version");
    }
  }
  std::optional<FromResult> given = arguments_of_log(read, engine);
  FromResult result = given ? std::move(*given) : engine_alone(read, engine);
  if (log) {
    add_startup_log(result, *log, read, catalog);
  } else {
    add_started_log(result, *started, read, catalog);
  }
  if (result.scenario.contains("model")) std::erase(result.notes, kModelNotNamed);
  Json ordered = Json::object();
  for (const char* key : {"model", "device"}) {
    if (result.scenario.contains(key)) ordered[key] = result.scenario.at(key);
  }
  ordered.update(result.scenario);
  result.scenario = std::move(ordered);
  return result;
}

}  // namespace headroom
