// `headroom run` and `headroom check`: one scenario, simulated or only read.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/app/command.hpp"
#include "sim/app/commands/short_flag.hpp"
#include "sim/app/input_text.hpp"
#include "sim/app/interruption.hpp"
#include "sim/app/list.hpp"
#include "sim/app/next_step.hpp"
#include "sim/app/output_name.hpp"
#include "sim/app/progress.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/metrics/fan_out.hpp"
#include "sim/report/files/perfetto_log.hpp"
#include "sim/report/files/result_files.hpp"
#include "sim/report/files/step_log.hpp"
#include "sim/report/json/result_json.hpp"
#include "sim/report/text/terminal.hpp"
#include "sim/resolve/run.hpp"
#include "sim/scenario/scenario_file.hpp"

namespace headroom {
namespace {

struct RunArguments {
  std::string scenario;
  std::string output;
  std::string catalog;
  std::string event_log;
  std::string step_log;
  ScenarioFlags flags;
  std::string columns;  // of the trace
  bool json = false;
  bool verbose = false;  // with the sources of constants
  bool quiet = false;
};

// What shells and spreadsheets take for something else is replaced.
std::string plain_name(const std::string& name) {
  std::string safe;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || (c == '.' && !safe.empty());
    safe += plain ? c : '_';
  }
  return safe;
}

// With --json and no -o the answer is standard output alone: empty.
std::string results_folder(const RunArguments& a, const Scenario& scenario) {
  if (!a.output.empty() || a.json) return a.output;
  return "results/" + plain_name(output_name(a.scenario, scenario.name));
}

// "-" is standard input, which can be read once.
void name_inputs(RunArguments& a) {
  std::optional<std::string>& trace = a.flags.trace;
  if (a.scenario == "-" && trace == "-") {
    throw ConfigError("--trace -: standard input is already the scenario");
  }
  a.scenario = input_path(a.scenario);
  if (trace) trace = input_path(*trace);
  if (!a.columns.empty()) a.flags.set.push_back(columns_setting(a.columns));
}

// The files that are written while the run goes on.
class RunLogs {
 public:
  explicit RunLogs(const RunArguments& a) {
    std::vector<MetricsSink*> sinks;
    if (!a.event_log.empty()) sinks.push_back(&events_.emplace(a.event_log));
    if (!a.step_log.empty()) sinks.push_back(&steps_.emplace(a.step_log));
    if (!sinks.empty()) all_.emplace(std::move(sinks));
  }

  [[nodiscard]] MetricsSink* sink() { return all_ ? &*all_ : nullptr; }
  void finish(TimeNs end_ns) {
    if (events_) events_->finish(end_ns);
    if (steps_) steps_->finish();
  }

 private:
  std::optional<PerfettoLog> events_;
  std::optional<StepLog> steps_;
  std::optional<FanOut> all_;
};

// How to go on from an answer; `set` and `trace` go along.
std::string next_after_run(const RunArguments& a, const RunResult& result,
                           const RunVerdict& verdict, const std::string& written) {
  const std::optional<std::string> words = scenario_words(a.scenario, a.flags.set);
  if (!words || (a.flags.trace && *a.flags.trace == kStandardInput)) {
    return written.empty() ? "" : next_line("report " + shell_word(written), "charts, on one page");
  }
  if (verdict.verdict == HoldVerdict::does_not_start) {
    return next_line("audit " + *words, "where every GiB goes, and the smallest fix");
  }
  const std::string trace = a.flags.trace ? " --trace " + shell_word(*a.flags.trace) : "";
  if (verdict.verdict == HoldVerdict::does_not_hold) {
    return next_line("ask " + *words + trace, "how much it holds, and what helps most");
  }
  if (!result.summary.metrics.request_goodput) {
    return next_line("ask " + *words + trace + " --slo p99_ttft=2s",
                     "how much it holds within a target");
  }
  return next_line("tune " + *words + trace, "the flags that serve most within the targets");
}

int run_command(const RunArguments& a) {
  const Scenario scenario = load_scenario(a.scenario, a.flags);
  const Catalog catalog = load_catalog(a.catalog);
  const std::string target = results_folder(a, scenario);
  const std::atomic<bool>& interrupted = stop_on_signals();
  std::optional<ResultDirectory> directory;
  if (!target.empty()) directory.emplace(target);

  RunLogs logs(a);
  RunResult result;
  {
    Progress progress;
    result = run(scenario, catalog, {&interrupted, progress.done(), logs.sink()});
  }
  logs.finish(result.summary.end_ns);
  const RunVerdict verdict = judge_run(result, catalog);
  if (directory) {
    write_results(result, verdict, kVersion, *directory);
    if (a.output.empty()) directory->avoid_others();
    directory->publish();
  }
  const std::string written = directory ? directory->target() : "";
  if (a.json) {
    print(summary_json(result, kVersion, &verdict), true);
  } else {
    print(terminal_summary(result, verdict, written, a.verbose) +
          (a.quiet ? "" : next_after_run(a, result, verdict, written)));
  }
  return result.stop == StopReason::interrupted ? interrupted_exit_code() : 0;
}

int check_command(const RunArguments& a) {
  const Scenario scenario = load_scenario(a.scenario, a.flags);
  const RunResult result = check(scenario, load_catalog(a.catalog));
  print(a.json ? resolved_json(result, kVersion) : terminal_check(result), a.json);
  return 0;
}

void add_scenario_options(CLI::App& command, RunArguments& a) {
  command
      .add_option("scenario", a.scenario,
                  "a file (-: standard input), or a name from `list scenarios`")
      ->required();
  command.add_option("--set", a.flags.set, "path=value, e.g. engine.max_num_seqs=128")
      ->allow_extra_args(false);
  command.add_option("--trace", a.flags.trace, "replay this trace file (-: standard input)");
  command.add_option("--columns", a.columns, kColumnsHelp);
  with_short_numbers(
      command.add_option("--until", a.flags.until_s, "stop at this simulated time: 300, 5m"), "s");
  command.add_option("--catalog", a.catalog, kCatalogHelp);
}

std::function<int()> add_run(CLI::App& command) {
  const auto a = std::make_shared<RunArguments>();
  add_scenario_options(command, *a);
  command.add_option("-o,--output", a->output, "results folder (results/<scenario name>)");
  command.add_flag("--json", a->json, "print summary.json; write files only with -o");
  command.add_flag("-v,--verbose", a->verbose, "also print where the constants come from");
  command.add_flag("-q,--quiet", a->quiet, kQuietHelp);
  command.add_flag("--single-step", a->flags.single_step,
                   "simulate equal steps one by one: same results, slower");
  command.add_option("--event-log", a->event_log,
                     "also write every step and request as a Chrome/Perfetto trace (JSON)");
  command.add_option("--step-log", a->step_log,
                     "also write each step's sequences, tokens and blocks (JSON lines), with "
                     "--single-step");
  return [a] {
    if (!a->step_log.empty()) a->flags.single_step = true;
    name_inputs(*a);
    return run_command(*a);
  };
}

std::function<int()> add_check(CLI::App& command) {
  const auto a = std::make_shared<RunArguments>();
  add_scenario_options(command, *a);
  command.add_flag("--json", a->json, "print every value and where it comes from");
  return [a] {
    name_inputs(*a);
    return check_command(*a);
  };
}

}  // namespace

const Command kRunCommand{"run", "simulate a scenario, write its result files", add_run};
const Command kCheckCommand{"check", "validate a scenario without running it", add_check};

}  // namespace headroom
