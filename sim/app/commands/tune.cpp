// `headroom tune S`: the best engine flags for the traffic and the targets of a scenario.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/app/command.hpp"
#include "sim/app/commands/short_flag.hpp"
#include "sim/app/failure.hpp"
#include "sim/app/input_text.hpp"
#include "sim/app/interruption.hpp"
#include "sim/app/list.hpp"
#include "sim/app/next_step.hpp"
#include "sim/app/threads.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/report/files/replaced_file.hpp"
#include "sim/report/json/tune_json.hpp"
#include "sim/report/text/tune_report.hpp"
#include "sim/scenario/options.hpp"
#include "sim/scenario/scenario_file.hpp"
#include "sim/scenario/short_paths.hpp"
#include "sim/study/ask/ask_target.hpp"
#include "sim/study/tune/tune_query.hpp"

namespace headroom {
namespace {

struct TuneArguments {
  std::string scenario;
  std::vector<std::string> set;
  std::optional<std::string> trace;
  std::vector<std::string> targets;
  std::string objective = "goodput";
  std::optional<double> price;
  std::vector<std::string> keep;
  std::vector<std::string> tries;
  bool only_tries = false;
  std::int64_t budget = kTuneBudget;
  std::int64_t seed = 1;
  std::optional<std::int64_t> threads;  // empty: all cores
  std::string save;
  std::string catalog;
  bool json = false;
  bool quiet = false;
};

TuneQuery query_of(const TuneArguments& a) {
  ScenarioDocument document = read_scenario_document(input_path(a.scenario));
  JsonDocument& json = document.json;
  if (!json.root.is_object()) throw value_error(json, "", json.root, "expected an object");
  place_short_keys(json);
  if (a.trace) set_trace(json, input_path(*a.trace));
  for (const std::string& assignment : a.set) set_option(json, assignment);
  std::vector<Limit> targets = parse_targets(a.targets);
  if (!a.save.empty()) keep_targets(targets, json, "--save");
  TuneQuery query = tune_query({.objective = a.objective,
                                .price = a.price,
                                .keep = a.keep,
                                .tries = a.tries,
                                .only_tries = a.only_tries,
                                .budget = a.budget,
                                .seed = a.seed},
                               std::move(document));
  query.targets = std::move(targets);
  return query;
}

std::string next_after_tune(const TuneArguments& a, const TuneAnswer& answer) {
  const std::optional<std::string> words = scenario_words(input_path(a.scenario), a.set);
  if (!words) return "";
  std::string asked;
  if (a.trace) asked += " --trace " + shell_word(*a.trace);
  for (const std::string& target : a.targets) asked += " --slo " + shell_word(target);
  if (answer.settings.empty())
    return next_line("ask " + *words + asked, "which other devices would help");
  std::string command = "compare " + *words;
  if (a.trace) command += " --trace " + shell_word(*a.trace);
  for (const Setting& setting : answer.settings) {
    const Json& value = setting.value;
    command += " --set-b " +
               shell_word(fmt::format("{}={}", setting.path,
                                      value.is_string() ? value.get<std::string>() : value.dump()));
  }
  return next_line(command, "both under the same traffic");
}

int tune_command(const TuneArguments& a) {
  const TuneQuery query = query_of(a);
  const Catalog catalog = load_catalog(a.catalog);
  std::optional<ReplacedFile> saved;
  if (!a.save.empty()) saved.emplace(a.save);
  const std::atomic<bool>& interrupted = stop_on_signals();
  const TuneAnswer answer =
      tune(query, catalog, {.threads = threads_of(a.threads), .interrupted = &interrupted});
  if (interrupted) return interrupted_exit_code();
  const TunedScenario best = tuned_scenario(query, answer);
  if (saved) saved->publish(json_text(best.root));
  if (a.json) {
    print(json_text(tune_json(answer, best.root, best.command, kVersion)), true);
  } else {
    std::string assumed;
    for (const std::string& note : unit_notes(a.targets)) {
      assumed += fmt::format("{:<12}{}\n", "assumed", note);
    }
    print(tune_text(answer, best.command) + assumed + (a.quiet ? "" : next_after_tune(a, answer)));
  }
  return answer.best.merit ? 0 : kExitDoesNotHold;
}

std::function<int()> add_tune(CLI::App& command) {
  const auto a = std::make_shared<TuneArguments>();
  command
      .add_option("scenario", a->scenario,
                  "a file (-: standard input), or a name from `list scenarios`")
      ->required();
  command
      .add_option("--slo", a->targets, "targets besides the scenario's: p99_ttft=2s,p95_tpot=50ms")
      ->allow_extra_args(false);
  command.add_option("--objective", a->objective,
                     "goodput: the largest load within the targets; dollars: per million output "
                     "tokens at that load; joules: per output token at the scenario's load");
  command.add_option("--price", a->price, "$ for an hour of one device (fleet.cost_per_hour)");
  command.add_option("--keep", a->keep, "an option that stays as it stands: engine.kv_cache_dtype")
      ->allow_extra_args(false);
  command.add_option("--try", a->tries, "values of your own: engine.quantization=fp8,int4")
      ->allow_extra_args(false);
  command.add_flag("--only-tries", a->only_tries, "change nothing but the options of --try");
  with_short_numbers(command.add_option("--budget", a->budget, "runs of the search (1000)"),
                     "runs");
  command.add_option("--seed", a->seed, "of the random configurations (1)");
  command.add_option("--set", a->set, "path=value, changes the scenario")->allow_extra_args(false);
  command.add_option("--trace", a->trace, "replay this trace file");
  command.add_option("-j,--threads,--workers", a->threads, "runs in parallel (all cores)");
  command.add_option("--save", a->save, "also write the tuned scenario to this file");
  command.add_option("--catalog", a->catalog, kCatalogHelp);
  command.add_flag("--json", a->json, "print JSON");
  command.add_flag("-q,--quiet", a->quiet, kQuietHelp);
  return [a] { return tune_command(*a); };
}

}  // namespace

const Command kTuneCommand{"tune", "the best engine flags for a scenario's traffic", add_tune};

}  // namespace headroom
