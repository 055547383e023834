// The command line. Exit codes: 0 done (running out of memory is a result, too), 2 the scenario, a
// file or a flag is wrong, 3 some runs of a study failed or are missing, 70 a bug of Headroom, 130,
// 143, 129 interrupted by SIGINT, SIGTERM, SIGHUP with complete results up to then.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "sim/app/audit_command.hpp"
#include "sim/app/calibrate_command.hpp"
#include "sim/app/capacity_command.hpp"
#include "sim/app/compare_command.hpp"
#include "sim/app/failure.hpp"
#include "sim/app/fleet_command.hpp"
#include "sim/app/from_command.hpp"
#include "sim/app/input_text.hpp"
#include "sim/app/interruption.hpp"
#include "sim/app/list.hpp"
#include "sim/app/output_name.hpp"
#include "sim/app/progress.hpp"
#include "sim/app/report_command.hpp"
#include "sim/app/step_command.hpp"
#include "sim/app/sweep_command.hpp"
#include "sim/app/trace_command.hpp"
#include "sim/app/validate_command.hpp"
#include "sim/kernel/check.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/visible_text.hpp"
#include "sim/report/perfetto_log.hpp"
#include "sim/report/result_files.hpp"
#include "sim/report/terminal.hpp"
#include "sim/resolve/run.hpp"
#include "sim/scenario/scenario_file.hpp"

namespace {

using namespace headroom;

const std::string kVersion = HEADROOM_VERSION;
constexpr const char* kCatalogHelp = "folder with own models, devices, environments, calibrations";

struct Arguments {
  std::string scenario;
  std::string output;
  std::string catalog;
  std::string kind;
  std::string event_log;
  ScenarioFlags flags;
  bool json = false;
  CapacityArguments capacity;
  FromArguments from;
  AuditArguments audit;
  ValidateArguments validate;
  CalibrateArguments calibrate;
  StepArguments step;
  TraceArguments trace;
  CompareArguments compare;
  FleetPlanArguments fleet_plan;
  SweepArguments sweep;
  MergeArguments merge;
  ReportArguments report;
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

// What people read has no control characters; JSON goes out as it is.
void print(const std::string& given, bool is_json = false) {
  const std::string text = is_json ? given : visible_lines(given);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw ConfigError("standard output: cannot write");
  }
}

// With --json and no -o the answer is standard output alone: empty.
std::string results_folder(const Arguments& arguments, const Scenario& scenario) {
  if (!arguments.output.empty() || arguments.json) return arguments.output;
  return "results/" + plain_name(output_name(arguments.scenario, scenario.name));
}

int run_command(const Arguments& arguments) {
  const Scenario scenario = load_scenario(arguments.scenario, arguments.flags);
  const Catalog catalog = load_catalog(arguments.catalog);
  const std::string target = results_folder(arguments, scenario);
  const std::atomic<bool>& interrupted = stop_on_signals();
  std::optional<ResultDirectory> directory;
  if (!target.empty()) directory.emplace(target);

  std::optional<PerfettoLog> event_log;
  if (!arguments.event_log.empty()) event_log.emplace(arguments.event_log);

  RunResult result;
  {
    Progress progress;
    result =
        run(scenario, catalog, {&interrupted, progress.done(), event_log ? &*event_log : nullptr});
  }
  if (event_log) event_log->finish(result.summary.end_ns);
  if (directory) {
    write_results(result, kVersion, *directory);
    directory->publish();
  }
  print(arguments.json ? summary_json(result, kVersion) : terminal_summary(result, target),
        arguments.json);
  return result.stop == StopReason::interrupted ? interrupted_exit_code() : 0;
}

int check_command(const Arguments& arguments) {
  const Scenario scenario = load_scenario(arguments.scenario, arguments.flags);
  const RunResult result = check(scenario, load_catalog(arguments.catalog));
  print(arguments.json ? resolved_json(result, kVersion) : terminal_check(result), arguments.json);
  return 0;
}

int answer_of(const StudyAnswer& answer, bool is_json = false) {
  print(answer.text, is_json);
  if (answer.end == StudyEnd::interrupted) return interrupted_exit_code();
  return answer.end == StudyEnd::incomplete ? kExitIncomplete : 0;
}

int sweep(const SweepArguments& arguments) {
  static const std::atomic<bool> never{false};  // an estimate has nothing to keep
  return answer_of(
      sweep_command(arguments, kVersion, arguments.dry_run ? never : stop_on_signals()));
}

int compare(const CompareArguments& arguments) {
  const std::atomic<bool>& interrupted = stop_on_signals();
  print(compare_command(arguments, kVersion, interrupted), arguments.json);
  return interrupted ? interrupted_exit_code() : 0;
}

void add_compare(CLI::App& command, CompareArguments& a) {
  command.add_option("a", a.a, "a scenario; alone: a study with two points, or use --set-b")
      ->required();
  command.add_option("b", a.b, "the other scenario");
  command.add_option("--set", a.set, "path=value in both")->allow_extra_args(false);
  command.add_option("--set-a", a.set_a, "path=value in A")->allow_extra_args(false);
  command.add_option("--set-b", a.set_b, "path=value in B")->allow_extra_args(false);
  command.add_option("--replications", a.replications, "pairs of runs, each with a seed (5)");
  command.add_option("-j,--threads", a.threads, "runs at a time (all cores)");
  command.add_option("-o,--output", a.output, "folder for the first pair's result files");
  command.add_option("--catalog", a.catalog, kCatalogHelp);
  command.add_flag("--json", a.json, "print JSON");
}

int fleet_plan(const FleetPlanArguments& arguments) {
  return answer_of(fleet_plan_command(arguments, kVersion, stop_on_signals()), arguments.json);
}

void add_fleet(CLI::App& command, FleetPlanArguments& a) {
  command.require_subcommand(1);
  CLI::App* plan = command.add_subcommand("plan", "the cheapest fleets that keep targets");
  plan->add_option("plan", a.plan, "a file, or a name of `list plans`")->required();
  plan->add_option("-o,--output", a.output, "folder (results/<name of the plan>)");
  plan->add_option("--trace", a.trace, "replay this trace file");
  plan->add_option("-j,--threads", a.threads, "candidates at a time (all cores)");
  plan->add_option("--catalog", a.catalog, kCatalogHelp);
  plan->add_flag("--json", a.json, "print plan.json; files only with -o");
}

void add_scenario_options(CLI::App& command, Arguments& arguments) {
  command
      .add_option("scenario", arguments.scenario,
                  "a file (-: standard input), or a name of `list scenarios`")
      ->required();
  command.add_option("--set", arguments.flags.set, "path=value, e.g. engine.max_num_seqs=128")
      ->allow_extra_args(false);
  command.add_option("--trace", arguments.flags.trace,
                     "replay this trace file (-: standard input)");
  command.add_option("--until", arguments.flags.until_s, "end at this simulated time in s");
  command.add_option("--catalog", arguments.catalog, kCatalogHelp);
}

void add_capacity(CLI::App& command, CapacityArguments& a) {
  command.add_option("scenario", a.scenario, "base to vary; optional");
  command.add_option("--model", a.models, "catalog id, Hugging Face name or config.json; a,b,...");
  command.add_option("--device", a.devices, "catalog ids: a,b,...");
  command.add_option("--engine", a.engines, "engine or engine@version: a,b,... (vllm)");
  command.add_option("--environment", a.environments, "native,docker,... (native)");
  command.add_option("--context", a.contexts, "tokens per request: 2048,8k,...");
  command.add_option("--set", a.set, "path=value, e.g. engine.tensor_parallel_size=2")
      ->allow_extra_args(false);
  command.add_option("--kv-bytes-per-token", a.kv_bytes_per_token, "instead of the geometry's");
  command.add_option("--usable-fraction", a.usable_fraction,
                     "KV pool = this x (device memory - weights), instead of the engine's rule");
  command.add_flag("--worksheet", a.worksheet, "the hand worksheet, as written and corrected");
  command.add_option("--concurrency", a.concurrency, "worksheet: requests at a time");
  command.add_option("--weights-gb", a.weights_gb, "worksheet: weights of the whole model");
  command.add_option("--gpu-memory-gb", a.gpu_memory_gb, "worksheet: memory of a device");
  command.add_option("--overhead-gb", a.overhead_gb, "worksheet: CUDA and allocator");
  command.add_option("--catalog", a.catalog, kCatalogHelp);
  command.add_flag("--json", a.json, "print JSON");
}

void add_step(CLI::App& command, StepArguments& a) {
  command.add_option("scenario", a.scenario, "a file, or a name of `list scenarios`")->required();
  command.add_option("--set", a.flags.set, "path=value, e.g. model=qwen2.5-7b")
      ->allow_extra_args(false);
  command.add_option("--decode", a.question.decodes, "decoding sequences in the step (0)");
  command.add_option("--context", a.question.context, "tokens of each (1)");
  command.add_option("--chunks", a.question.chunks, "sequences with prompt tokens in it (0)");
  command.add_option("--chunk-tokens", a.question.chunk_tokens, "of each (1)");
  command.add_option("--cached", a.question.cached_tokens, "tokens of each before them (0)");
  command.add_option("--measured-ms", a.question.measured_ms, "what the step took on a machine");
  command.add_option("--catalog", a.catalog, kCatalogHelp);
  command.add_flag("--json", a.json, "print JSON");
}

void add_audit(CLI::App& command, AuditArguments& a) {
  command.add_option("target", a.target,
                     "a scenario, or the log of a start-up (-: standard input)");
  command.add_option("--set", a.flags.set, "path=value, e.g. engine.max_num_seqs=128")
      ->allow_extra_args(false);
  command.add_option("--context", a.context, "tokens of a request that must fit");
  command.add_option("--concurrency", a.concurrency, "such requests together");
  command.add_flag("--mitigate", a.mitigate, "unified memory: what gives KV back, ranked");
  command.add_option("--model", a.model, "of a log: instead of what it says");
  command.add_option("--device", a.device, "of a log: instead of what its memory suggests");
  command.add_option("--environment", a.environment, "of a log");
  command.add_option("--series", a.series, "CSV of memory over time, e.g. of nvidia-smi");
  command.add_option("--gpu", a.gpu, "of a recording with several");
  command.add_option("--capacity-gib", a.capacity_gib, "of the recorded device");
  command.add_option("--max-concurrent", a.max_concurrency, "requests that the device holds");
  command.add_option("--catalog", a.catalog, kCatalogHelp);
  command.add_flag("--json", a.json, "print JSON");
}

void add_validate(CLI::App& command, ValidateArguments& a) {
  command
      .add_option("what", a.what,
                  "memory: budget rules against logged start-ups; runs: measured runs replayed")
      ->required();
  command.add_option("directory", a.directory, "folder with the measurements")->required();
  command.add_option("--tables", a.tables,
                     "of runs: price them from the kernel profiles (meta.yaml, tp<N>/) in this "
                     "folder");
  command.add_flag("--ablate", a.ablate, "of runs: what each term of the step cost is worth");
  command.add_option("--catalog", a.catalog, kCatalogHelp);
  command.add_flag("--json", a.json, "print JSON");
}

void add_calibrate(CLI::App& command, CalibrateArguments& a) {
  command
      .add_option("source", a.source,
                  "folder with measured runs, or the file that hardware/probe/probe.py wrote")
      ->required();
  command
      .add_option("--calibration", a.calibration, "row to start from (headroom list calibrations)")
      ->required();
  command.add_option("--runs", a.runs, "of a folder: data sets of `validate runs`: a,b,...")
      ->delimiter(',');
  command.add_option("--device", a.device,
                     "of a file: catalog id of the probed device (the row's)");
  command.add_option("--fit", a.fit, "constants to fit, by their names in the row: a,b,...")
      ->required()
      ->delimiter(',');
  command.add_option("-o,--output", a.output, "folder for a calibrations.json with the fitted row");
  command.add_option("--catalog", a.catalog, kCatalogHelp);
}

void add_from(CLI::App& command, FromArguments& a) {
  command.add_option("source", a.source,
                     "'vllm serve ...' or another engine's command, compose.yaml, /metrics, a log; "
                     "- is standard input");
  command.add_option("--device", a.device, "catalog id, which a command does not name");
  command.add_option("--service", a.service, "of a compose file");
  command.add_option("--set", a.set, "path=value, laid over the result")->allow_extra_args(false);
  command.add_flag("--json", a.json, "print scenario, unknown flags and notes as JSON");
  command.allow_extras();  // flags of a command without quotes: refused with what to write instead
}

void add_report(CLI::App& command, ReportArguments& a) {
  command
      .add_option("results", a.paths,
                  "a run's folder, several to be compared, or the database of a study")
      ->required();
  command.add_option("-o,--output", a.output, "HTML file (report.html)");
  command.add_option("--title", a.title, "of the page (the scenario's or study's name)");
}

void add_trace(CLI::App& command, TraceArguments& a) {
  command.require_subcommand(1);
  CLI::App* describe = command.add_subcommand("describe", "arrivals, lengths, sessions, prefixes");
  describe->add_option("--kv-tokens", a.kv_tokens, "pool to compare max_tokens rules in (100000)");
  describe->add_option("--max-model-len", a.max_model_len, "tokens, for the engine's default");
  CLI::App* convert = command.add_subcommand("convert", "the same rows in another format");
  convert->add_option("-o,--output", a.output, "file; - is standard output")->required();
  convert->add_option("--to", a.to, "headroom (CSV with all there is) or mooncake (JSONL)");
  CLI::App* check = command.add_subcommand("check", "read every row, count what is odd");
  for (CLI::App* one : {describe, convert, check}) {
    one->add_option("file", a.file,
                    "a trace of any known format, plain or .gz; - is standard input")
        ->required();
    one->add_option("--session-input", a.session_input,
                    "what later turns of a Mooncake file state: auto, whole or added (auto)")
        ->check(CLI::IsMember({"auto", "whole", "added"}));
    if (one != convert) one->add_flag("--json", a.json, "print JSON");
  }
}

void add_sweep(CLI::App& command, SweepArguments& a) {
  command.add_option("study", a.study, "a file, or a name of `list studies`")->required();
  command.add_option("-o,--output", a.output, "SQLite file (results/<name of the study>.db)");
  command.add_option("-j,--threads", a.threads, "runs at a time (all cores)");
  command.add_flag("--resume", a.resume, "go on where the file ends; failed runs are tried again");
  command.add_flag("--dry-run", a.dry_run, "check everything, say how much and how long it is");
  command.add_option("--shard", a.shard, "i/n: only every n-th point, from the i-th");
  command.add_option("--set", a.set, "path=value, laid over the base scenario")
      ->allow_extra_args(false);
  command.add_option("--catalog", a.catalog, kCatalogHelp);
}

void add_merge(CLI::App& command, MergeArguments& a) {
  command.add_option("output", a.output, "SQLite file to make")->required();
  command.add_option("inputs", a.inputs, "files of shards of one study")->required();
}

std::string trace_command(const CLI::App& command, const TraceArguments& arguments) {
  if (command.got_subcommand("describe")) return trace_describe_command(arguments);
  if (command.got_subcommand("convert")) return trace_convert_command(arguments);
  return trace_check_command(arguments);
}

void add_commands(CLI::App& app, Arguments& arguments) {
  CLI::App* run_app = app.add_subcommand("run", "simulate a scenario, write its result files");
  add_scenario_options(*run_app, arguments);
  run_app->add_option("-o,--output", arguments.output, "results folder (results/<scenario name>)");
  run_app->add_flag("--json", arguments.json, "print summary.json; files only with -o");
  run_app->add_flag("--single-step", arguments.flags.single_step,
                    "never jump over equal steps: same results, slower");
  run_app->add_option("--event-log", arguments.event_log,
                      "also every step and request as a Chrome/Perfetto trace (JSON)");
  CLI::App* check_app = app.add_subcommand("check", "read everything, simulate nothing");
  add_scenario_options(*check_app, arguments);
  check_app->add_flag("--json", arguments.json, "print every value with who set it");
  add_capacity(*app.add_subcommand("capacity", "what fits: memory without traffic"),
               arguments.capacity);
  add_audit(*app.add_subcommand("audit", "where every GiB goes, and the smallest fix"),
            arguments.audit);
  add_step(*app.add_subcommand("step", "what one step costs, term by term"), arguments.step);
  add_validate(*app.add_subcommand("validate", "score the models against measurements"),
               arguments.validate);
  add_calibrate(*app.add_subcommand("calibrate", "fit step costs on measured runs or steps"),
                arguments.calibrate);
  add_from(*app.add_subcommand("from", "a scenario from what you run already"), arguments.from);
  add_trace(*app.add_subcommand("trace", "what a trace file holds, or the same in another format"),
            arguments.trace);
  add_compare(*app.add_subcommand("compare", "two scenarios under the same traffic"),
              arguments.compare);
  add_fleet(*app.add_subcommand("fleet", "which fleet for a traffic and its targets"),
            arguments.fleet_plan);
  add_sweep(*app.add_subcommand("sweep", "all runs of a study, into one SQLite file"),
            arguments.sweep);
  add_merge(*app.add_subcommand("merge", "the shards of a study as one file"), arguments.merge);
  add_report(*app.add_subcommand("report", "results as one HTML file"), arguments.report);
  CLI::App* list_app = app.add_subcommand("list", "what there is to choose from");
  list_app->add_option("kind", arguments.kind, list_kinds())->required();
  list_app->add_option("--catalog", arguments.catalog, kCatalogHelp);
}

// "-" is standard input, which can be read once.
void name_inputs(Arguments& arguments) {
  std::optional<std::string>& trace = arguments.flags.trace;
  if (arguments.scenario == "-" && trace == "-") {
    throw ConfigError("--trace -: the scenario is standard input already");
  }
  arguments.scenario = input_path(arguments.scenario);
  if (trace) trace = input_path(*trace);
  arguments.trace.file = input_path(arguments.trace.file);
  arguments.audit.target = input_path(arguments.audit.target);
  arguments.audit.series = input_path(arguments.audit.series);
  std::vector<std::string>& source = arguments.from.source;
  if (std::ranges::count(source, "-") > 1) {
    throw ConfigError("from: only one of the files can be standard input");
  }
  std::ranges::transform(source, source.begin(), input_path);
}

int dispatch(const CLI::App& app, Arguments& arguments) {
  name_inputs(arguments);
  if (app.got_subcommand("run")) return run_command(arguments);
  if (app.got_subcommand("check")) return check_command(arguments);
  if (app.got_subcommand("sweep")) return sweep(arguments.sweep);
  if (app.got_subcommand("compare")) return compare(arguments.compare);
  if (app.got_subcommand("fleet")) return fleet_plan(arguments.fleet_plan);
  if (app.got_subcommand("merge")) return answer_of(merge_command(arguments.merge));
  if (app.got_subcommand("capacity")) {
    print(capacity_command(arguments.capacity), arguments.capacity.json);
  } else if (app.got_subcommand("audit")) {
    print(audit_command(arguments.audit), arguments.audit.json);
  } else if (app.got_subcommand("step")) {
    print(step_command(arguments.step), arguments.step.json);
  } else if (app.got_subcommand("validate")) {
    print(validate_command(arguments.validate), arguments.validate.json);
  } else if (app.got_subcommand("calibrate")) {
    print(calibrate_command(arguments.calibrate));
  } else if (app.got_subcommand("from")) {
    arguments.from.unknown = app.get_subcommand("from")->remaining();
    std::erase(arguments.from.unknown, "--");   // which only says that words follow
    print(from_command(arguments.from), true);  // JSON, with comments
  } else if (app.got_subcommand("trace")) {
    print(trace_command(*app.get_subcommand("trace"), arguments.trace), arguments.trace.json);
  } else if (app.got_subcommand("report")) {
    print(report_command(arguments.report, kVersion));
  } else {
    print(list_text(arguments.kind, arguments.catalog));
  }
  return 0;
}

int parse_and_dispatch(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Headroom simulates LLM serving: throughput, latency and out-of-memory.",
               "headroom");
  app.set_version_flag("--version", "headroom " + kVersion);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 done, 2 wrong scenario, file or flag, 3 runs of a study failed or missing,\n"
      "70 internal error, 128 + signal interrupted\n"
      "First steps: headroom run demo; headroom list scenarios");
  add_commands(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& wanted) {
    return app.exit(wanted);  // --help, --version
  } catch (const CLI::ParseError& error) {
    throw ConfigError(fmt::format("command line: {} (see headroom --help)", error.what()));
  }
  return dispatch(app, arguments);
}

// An error message is one line whatever a file name or a value brought into it.
void report(const std::string& message) {
  const std::string line = fmt::format("headroom: {}\n", visible_text(message));
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void report_internal(const std::string& what, int argc, char** argv) {
  std::string command = "headroom";
  for (int i = 1; i < argc; ++i) command += fmt::format(" '{}'", argv[i]);
  report(fmt::format("internal error, a bug of Headroom {}: {}", kVersion, what));
  report(fmt::format("reproduce with: {}", command));
}

}  // namespace

int main(int argc, char** argv) {
  end_on_signals();
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is a failed write, not the end
  try {
    return parse_and_dispatch(argc, argv);
  } catch (...) {
    const Failure failure = current_failure();
    if (failure.exit_code == kExitInternal) {
      report_internal(failure.text, argc, argv);
    } else {
      report(failure.text);
    }
    return failure.exit_code;
  }
}
