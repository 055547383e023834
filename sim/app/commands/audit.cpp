// `headroom audit SCENARIO | LOG | --series CSV`.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "sim/app/command.hpp"
#include "sim/app/commands/short_flag.hpp"
#include "sim/app/engine_source.hpp"
#include "sim/app/input_text.hpp"
#include "sim/app/list.hpp"
#include "sim/app/log_source.hpp"
#include "sim/app/next_step.hpp"
#include "sim/app/shared_source.hpp"
#include "sim/app/started_source.hpp"
#include "sim/app/system_source.hpp"
#include "sim/engines/engines.hpp"
#include "sim/engines/launch.hpp"
#include "sim/engines/memory_failure.hpp"
#include "sim/intake/printed_arguments.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/report/json/audit_json.hpp"
#include "sim/report/json/shared_device_json.hpp"
#include "sim/report/json/started_json.hpp"
#include "sim/report/text/audit_report.hpp"
#include "sim/report/text/failure_report.hpp"
#include "sim/report/text/shared_device_report.hpp"
#include "sim/report/text/started_report.hpp"
#include "sim/scenario/options.hpp"
#include "sim/scenario/scenario_file.hpp"

namespace headroom {
namespace {

struct AuditArguments {
  // A scenario (file or built-in name), or the log of a start-up. Empty with `series`.
  std::string target;
  ScenarioFlags flags;                      // of a scenario
  std::optional<std::int64_t> context;      // tokens of a request; absent: the longest accepted
  std::optional<std::int64_t> concurrency;  // such requests together; absent: 1
  bool mitigate = false;                    // what gives KV back on shared memory
  std::string service;                      // of a compose file; empty: all together
  // Of a log: stronger than what it says; of a compose file, which does not say it.
  std::string model;
  std::string device;
  std::string environment;
  // Of a recording.
  std::string series;  // CSV file
  std::string gpu;     // where it has several
  std::optional<double> capacity_gib;
  std::optional<double> max_concurrency;  // requests
  std::string catalog;                    // folder that overrides the embedded one; empty: none
  bool timeline = false;
  bool json = false;
  bool quiet = false;
};

// A scenario begins with a brace, or with a comment before it; a log with anything else.
bool is_log(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string::npos || (text[first] != '{' && text[first] != '/');
}

bool is_deployed(const AuditArguments& arguments, const std::string& text) {
  return holds_services(text) && is_yaml(arguments.target);
}

// A compose file's engine on `device`.
Scenario composed_scenario(const AuditArguments& arguments) {
  SystemFlags flags;
  flags.source = {arguments.target};
  flags.service = arguments.service;
  flags.set = arguments.flags.set;
  ScenarioDocument document = described_system(flags, "audit").document;
  set_device(arguments.device, document.json);
  for (const std::string& one : arguments.flags.set) set_option(document.json, one);
  return load_scenario(std::move(document), arguments.target, {});
}

// `text`: what was read of standard input, which cannot be read again.
Scenario audited_scenario(const AuditArguments& arguments, const std::string& text) {
  const std::string& name = arguments.target;
  if (is_deployed(arguments, text)) return composed_scenario(arguments);
  if (name != kStandardInput) return load_scenario(name, arguments.flags);
  return load_scenario({parse_json(text, name), ""}, name, arguments.flags);
}

// `notes`: on where the scenario comes from.
std::string scenario_audit(const AuditArguments& arguments, Scenario scenario,
                           const Catalog& catalog, const std::vector<std::string>& notes = {}) {
  AuditQuery query;
  query.scenario = std::move(scenario);
  if (arguments.context) {
    if (*arguments.context < 1) {  // 0 would mean the longest accepted length
      throw ConfigError(fmt::format("--context {}: expected at least 1 token", *arguments.context));
    }
    query.need.context = *arguments.context;
  }
  query.need.concurrency = arguments.concurrency.value_or(1);
  query.mitigate = arguments.mitigate;
  query.timeline = arguments.timeline;
  AuditReport report = audit(query, catalog);
  report.warnings.insert(report.warnings.end(), notes.begin(), notes.end());
  return arguments.json ? audit_json(report) : audit_text(report);
}

// Services that share devices: all of them, or one beside the others.
std::string services_audit(const AuditArguments& arguments, const Catalog& catalog) {
  const SharedServices all = shared_services(arguments.target, arguments.device,
                                             arguments.flags.set, catalog, arguments.service);
  if (!arguments.service.empty()) {
    const DescribedSystem& one = service_named(all, arguments.service).system;
    return scenario_audit(arguments, load_scenario(one.document, one.document.json.name, {}),
                          catalog, one.assumed);
  }
  if (arguments.context || arguments.concurrency || arguments.mitigate || arguments.timeline) {
    throw ConfigError(Complaint{.kind = ErrorKind::conflict,
                                .origin = arguments.target,
                                .problem = "--context, --concurrency, --mitigate and --timeline "
                                           "are about one engine: choose it with --service"});
  }
  std::vector<std::string> assumed;
  for (const SharedService& service : all.services) {
    for (const std::string& note : service.system.assumed) {
      assumed.push_back(fmt::format("{}: {}", service.name, note));
    }
  }
  if (!arguments.json) return shared_text(all.together, all.order, assumed);
  assumed.insert(assumed.begin(), all.order.begin(), all.order.end());
  return shared_json(all.together, assumed);
}

// A flag that says nothing about what is audited.
void check_flags(const AuditArguments& a, std::string_view what, bool is_log, bool is_compose) {
  const bool series = !a.series.empty();
  const auto refuse = [&](std::string_view flag, bool given, std::string_view of) {
    if (!given) return;
    throw ConfigError(Complaint{.kind = ErrorKind::conflict,
                                .origin = fmt::format("audit: {}", flag),
                                .problem = fmt::format("only for {}, but {}", of, what)});
  };
  refuse("--gpu", !series && !a.gpu.empty(), "--series");
  refuse("--capacity-gib", !series && a.capacity_gib, "--series");
  refuse("--max-concurrent", !series && a.max_concurrency, "--series");
  refuse("--service", !is_compose && !a.service.empty(), "a compose file");
  refuse("--model", !is_log && !a.model.empty(), "a log (else --set model=MODEL)");
  refuse("--environment", !is_log && !a.environment.empty(),
         "a log (else --set environment.name=NAME)");
  refuse("--device", !is_log && !is_compose && !a.device.empty(),
         "a log or a compose file (else --set device=DEVICE)");
  const bool has_budget = !series && !is_log;
  constexpr std::string_view kSystems = "a scenario or a compose file";
  refuse("--set", !has_budget && !a.flags.set.empty(), kSystems);
  refuse("--context", !has_budget && a.context, kSystems);
  refuse("--concurrency", !has_budget && a.concurrency, kSystems);
  refuse("--mitigate", !has_budget && a.mitigate, kSystems);
  refuse("--timeline", !has_budget && a.timeline, kSystems);
}

// The board that the log names, or those with its total of memory.
std::vector<std::string> devices_of(const MemoryFailure& failure, const Catalog& catalog) {
  if (!failure.board.empty()) {
    try {
      return {catalog.device(failure.board).id};
    } catch (const ConfigError&) {
      // Not in the catalog.
    }
  }
  const auto& total = failure.figure(MemoryFigure::total);
  return total && *total > 0 ? devices_of_total(catalog, *total) : std::vector<std::string>{};
}

std::string shown(const StartedAnswer& answer, bool json) {
  return json ? started_json(answer) : started_text(answer);
}

// With what the log prints of its arguments.
LogAudit audit_with_arguments(const StartupLog& log, const std::string& text, LogAuditQuery query,
                              const Catalog& catalog) {
  std::vector<std::string> notes;
  const std::string release = log.version ? log.version->value : std::string();
  query.arguments = options_of_log({text, log.name, {}, release}, *log.engine, notes);
  LogAudit found = audit_log(log, query, catalog);
  found.assumptions.insert(found.assumptions.end(), notes.begin(), notes.end());
  return found;
}

// A log without a message that memory ran out: whole, or without the model or the device.
std::string started_audit(const AuditArguments& arguments, const std::string& text,
                          const LogAuditQuery& query, const Catalog& catalog) {
  std::optional<StartupLog> log;
  try {
    std::istringstream in(text);
    log = read_startup_log(in, arguments.target);
  } catch (const ConfigError& error) {
    if (const auto answer = started_answer(text, arguments.target, query, catalog)) {
      return shown(*answer, arguments.json);
    }
    if (const auto printed = scenario_from_printed(text, arguments.target)) {
      throw ConfigError(Complaint{
          .kind = ErrorKind::missing,
          .origin = arguments.target,
          .problem = fmt::format(
              "a log of {} without figures of its memory: `headroom from {}` makes a scenario of "
              "the arguments that it prints, which audit explains",
              engine_named(printed->result.engine).launch->title, arguments.target)});
    }
    if (const Engine* engine = engine_of_lines(text)) {
      throw ConfigError(no_model_loaded(arguments.target, *engine));
    }
    throw error.with_context(
        fmt::format("lines of {} about memory were looked for, too", started_titles()));
  }
  try {
    const LogAudit found = audit_with_arguments(*log, text, query, catalog);
    if (arguments.json) return log_audit_json(found, nullptr);
    const std::string bars = log->failure ? "" : started_bars(started_answer(found)) + "\n";
    return bars + log_audit_text(found);
  } catch (const ConfigError&) {
    // What was given must be right; what the log does not say is left out.
    if (log->failure || (!query.model.empty() && !query.device.empty())) throw;
  }
  return shown(started_answer(*log, query, catalog), arguments.json);
}

std::string log_audit(const AuditArguments& arguments, const std::string& text,
                      const Catalog& catalog) {
  LogAuditQuery query;
  query.model = arguments.model;
  query.device = arguments.device;
  if (!arguments.environment.empty()) query.environment = arguments.environment;
  std::optional<MemoryFailure> failure = find_memory_failure(text);
  if (!failure) return started_audit(arguments, text, query, catalog);
  std::istringstream in(text);
  const std::string& name = arguments.target;
  const std::vector<std::string> devices = devices_of(*failure, catalog);
  try {
    const LogAudit found = audit_with_arguments(read_startup_log(in, name), text, query, catalog);
    if (arguments.json) return log_audit_json(found, &*failure);
    return memory_failure_text(*failure, name, devices) + "\n" + log_audit_text(found);
  } catch (const ConfigError&) {
    // A tail says neither model nor device, but what ran out.
    if (!query.model.empty()) throw;
  }
  const bool is_named = !failure->board.empty() && devices.size() == 1;
  if (!query.device.empty() || is_named) {
    const std::string& device = query.device.empty() ? devices.front() : query.device;
    auto& total = failure->figures[static_cast<std::size_t>(MemoryFigure::total)];
    if (!total) total = gib_from_bytes(catalog.device(device).memory_reported_bytes);
  }
  return arguments.json ? memory_failure_json(*failure, name, devices)
                        : memory_failure_text(*failure, name, devices);
}

std::string series_audit(const AuditArguments& arguments) {
  std::istringstream in(input_text(arguments.series));
  SeriesOptions options;
  options.capacity_gib = arguments.capacity_gib;
  options.max_concurrency = arguments.max_concurrency;
  const SeriesReport report =
      report_memory_series(read_memory_series(in, arguments.series, {arguments.gpu}), options);
  return arguments.json ? series_json(arguments.series, report)
                        : series_text(arguments.series, report);
}

std::string next_after_audit(const AuditArguments& a, bool is_log) {
  if (!a.series.empty()) {
    return next_line("audit SCENARIO", "where every GiB of the engine's share goes");
  }
  if (is_log) {
    return next_line("ask --device DEVICE -- COMMAND",
                     "with the command that starts the engine, simulates each change");
  }
  std::optional<std::string> words = scenario_words(a.target, a.flags.set);
  if (!words) return "";
  if (!a.device.empty()) *words += " --device " + shell_word(a.device);
  return next_line("ask " + *words, "does it hold its traffic, and what helps most");
}

std::string audit_command(const AuditArguments& arguments) {
  if (arguments.target.empty() == arguments.series.empty()) {
    throw ConfigError("audit: expected a scenario, a log, or --series with a CSV file");
  }
  const auto with_next = [&arguments](const std::string& answer, bool is_log) {
    if (arguments.json || arguments.quiet) return answer;
    const std::string next = next_after_audit(arguments, is_log);
    return next.empty() ? answer : answer + "\n" + next;
  };
  if (!arguments.series.empty()) {
    check_flags(arguments, "this is a recording", false, false);
    return with_next(series_audit(arguments), false);
  }
  const Catalog catalog = load_catalog(arguments.catalog);
  const bool may_be_log = is_input(arguments.target) && !is_scenario(arguments.target);
  const std::string text = may_be_log ? input_text(arguments.target) : "";
  if (is_deployed(arguments, text)) {
    check_flags(arguments, "this is a compose file", false, true);
    if (starts_several(arguments.target, arguments.service))
      return services_audit(arguments, catalog);
  } else if (may_be_log && is_log(text)) {
    check_flags(arguments, "this is a log", true, false);
    return with_next(log_audit(arguments, text, catalog), true);
  } else {
    // A file that is not there is neither, and flags of the one that it was meant to be say
    // nothing.
    if (!may_be_log) static_cast<void>(read_scenario_document(arguments.target));
    check_flags(arguments, "this is a scenario", false, false);
  }
  return with_next(scenario_audit(arguments, audited_scenario(arguments, text), catalog), false);
}

std::function<int()> add_audit(CLI::App& command) {
  const auto a = std::make_shared<AuditArguments>();
  command.add_option(
      "target", a->target,
      "a scenario, an engine's start-up log (-: standard input), or compose.yaml, whose "
      "engines share their devices");
  command
      .add_option("--set", a->flags.set,
                  "path=value, e.g. engine.max_num_seqs=128; SERVICE:path=value of a compose "
                  "file with several engines")
      ->allow_extra_args(false);
  with_short_numbers(
      command.add_option("--context", a->context, "length in tokens that a request may have"),
      "tokens");
  with_short_numbers(command.add_option("--concurrency", a->concurrency,
                                        "how many such requests must fit at once"),
                     "requests");
  command.add_flag("--mitigate", a->mitigate,
                   "on unified memory: rank the ways to free memory for KV");
  command.add_flag("--timeline", a->timeline,
                   "what the engine takes while it starts, in its order, and what is held then");
  command.add_option("--model", a->model, "for a log: use this model, whatever the log names");
  command.add_option("--device", a->device,
                     "for a compose file, which does not say it; for a log, instead of guessing "
                     "it from the memory size");
  command.add_option("--service", a->service, "for a compose file: this engine alone");
  command.add_option("--environment", a->environment,
                     "for a log: where the engine ran (headroom list environments)");
  command.add_option("--series", a->series, "CSV of memory over time, e.g. from nvidia-smi");
  command.add_option("--gpu", a->gpu, "for --series with several GPUs: the one to read");
  with_short_numbers(
      command.add_option("--capacity-gib", a->capacity_gib, "for --series: memory of the device"),
      "GiB");
  with_short_numbers(command.add_option("--max-concurrent", a->max_concurrency,
                                        "for --series: requests that the device can hold at once"),
                     "requests");
  command.add_option("--catalog", a->catalog, kCatalogHelp);
  command.add_flag("--json", a->json, "print JSON");
  command.add_flag("-q,--quiet", a->quiet, kQuietHelp);
  return [a] {
    a->target = input_path(a->target);
    a->series = input_path(a->series);
    return print(audit_command(*a), a->json);
  };
}

}  // namespace

const Command kAuditCommand{"audit", "where every GiB goes, and the smallest fix", add_audit};

}  // namespace headroom
