// `headroom observe URL`: a running server under a workload of ours, measured from outside.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <memory>
#include <string>

#include "sim/app/command.hpp"
#include "sim/app/commands/short_flag.hpp"
#include "sim/app/failure.hpp"
#include "sim/app/interruption.hpp"
#include "sim/app/observing.hpp"
#include "sim/report/text/observation_report.hpp"
#include "sim/report/text/wrapped_text.hpp"

namespace headroom {
namespace {

struct ObserveArguments {
  ObserveFlags flags;
  std::string output;
  bool json = false;
};

int observe_command(const ObserveArguments& a) {
  ObservePlan plan = observe_plan(a.flags, "observe");
  ObservationFolder folder(a.output);
  Observation seen;
  try {
    seen = observed(a.flags, plan);
  } catch (const UserError&) {
    // Interrupted before there was anything to keep.
    if (stop_on_signals()) return interrupted_exit_code();
    throw;
  }
  name_release(seen, plan.question.scenario);
  const std::string json = folder.write(seen, plan.question, kVersion);
  if (a.json) {
    print(json, true);
  } else {
    std::string text;
    for (const std::string& note : plan.assumed) text += wrapped("assumed", note, 12, 80);
    print(text + observation_text(seen, a.output));
  }
  if (seen.end == ObservationEnd::interrupted) return interrupted_exit_code();
  return seen.end == ObservationEnd::server_lost ? kExitIncomplete : 0;
}

std::function<int()> add_observe(CLI::App& command) {
  const auto a = std::make_shared<ObserveArguments>();
  add_observe_options(command, a->flags);
  command.add_option("-o,--output", a->output, "new folder for what is measured")->required();
  command.add_flag("--json", a->json, "print JSON");
  return [a] { return observe_command(*a); };
}

}  // namespace

void add_observe_options(CLI::App& command, ObserveFlags& f) {
  command.add_option("url", f.url, "the server: http://127.0.0.1:8000")->required();
  command.add_option("source", f.system.source,
                     "what serves: its command behind --, or quoted; compose.yaml, a start-up log, "
                     "a scenario (whose workload is sent)");
  command.add_option("--model", f.system.models, "without a source: the model that serves")
      ->allow_extra_args(false);
  command.add_option("--device", f.system.devices, "what it runs on; 2x4090 for two")
      ->allow_extra_args(false);
  command.add_option("--devices", f.system.device_count, "without a source: how many");
  command.add_option("--engine", f.system.engine, "without a source: engine or engine@version");
  command.add_option("--service", f.system.service, "for a compose file: the service to read");
  command.add_option("--set", f.system.set, "path=value, changes system or workload")
      ->allow_extra_args(false);
  with_short_numbers(command.add_option("--rate", f.rate, "requests per second, Poisson"),
                     "requests/s");
  with_short_numbers(
      command.add_option("--users", f.users, "instead of --rate: each waits for its answer"),
      "users");
  command.add_option("--in", f.prompt, "tokens of a prompt: 3000, 8k (1024)");
  command.add_option("--out", f.output, "tokens of an answer (256)");
  command.add_option("--trace", f.trace, "a recorded trace, instead of --rate, --in and --out");
  command.add_option("--columns", f.columns, kColumnsHelp);
  with_short_numbers(command.add_option("--requests", f.requests, "send at most so many (200)"),
                     "requests");
  with_short_numbers(command.add_option("--seconds", f.seconds, "send none later than this (300)"),
                     "s");
  with_short_numbers(
      command.add_option("--timeout", f.timeout_s, "longest time of one request, in seconds (300)"),
      "s");
  with_short_numbers(
      command.add_option("--warmup", f.warmup, "requests before the run, not counted (3)"),
      "requests");
  with_short_numbers(command.add_option("--metrics-every", f.metrics_every_s,
                                        "seconds between reads of /metrics (1)"),
                     "s");
  command.add_option("--served-model", f.served_model, "the model's name there, if it has several");
  command.add_option("--api-key-env", f.key_variable,
                     "variable of the environment that holds the key; it is not stored");
  command.add_flag("--remote", f.remote, "the server may be on another machine");
  command.add_option("--catalog", f.catalog, kCatalogHelp);
}

const Command kObserveCommand{"observe", "measure a running server under a workload", add_observe};

}  // namespace headroom
