// `headroom step SCENARIO --decode N ...`: what one step costs, term by term.

#include <CLI/CLI.hpp>

#include <memory>
#include <string>

#include "sim/app/command.hpp"
#include "sim/app/commands/short_flag.hpp"
#include "sim/app/list.hpp"
#include "sim/fidelity/step_breakdown.hpp"
#include "sim/report/text/step_report.hpp"
#include "sim/scenario/scenario_file.hpp"

namespace headroom {
namespace {

struct StepArguments {
  std::string scenario;
  ScenarioFlags flags;
  StepQuestion question;
  std::string catalog;  // folder that overrides the embedded one; empty: none
  bool json = false;
};

std::string step_command(const StepArguments& arguments) {
  const Scenario scenario = load_scenario(arguments.scenario, arguments.flags);
  const StepBreakdown step =
      explain_step(scenario, load_catalog(arguments.catalog), arguments.question);
  return arguments.json ? step_json(step, arguments.question) : step_text(step, arguments.question);
}

std::function<int()> add_step(CLI::App& command) {
  const auto a = std::make_shared<StepArguments>();
  command.add_option("scenario", a->scenario, "a file, or a name from `list scenarios`")
      ->required();
  command.add_option("--set", a->flags.set, "path=value, e.g. model=qwen2.5-7b")
      ->allow_extra_args(false);
  with_short_numbers(
      command.add_option("--decode", a->question.decodes, "decoding sequences in the step (0)"),
      "sequences");
  with_short_numbers(command.add_option("--context", a->question.context,
                                        "context of each decoding sequence, in tokens (1)"),
                     "tokens");
  with_short_numbers(
      command.add_option("--chunks", a->question.chunks, "prompt chunks in the step (0)"),
      "chunks");
  with_short_numbers(command.add_option("--chunk-tokens", a->question.chunk_tokens,
                                        "prompt tokens in each chunk (1)"),
                     "tokens");
  with_short_numbers(command.add_option("--cached", a->question.cached_tokens,
                                        "tokens of each prompt computed before its chunk (0)"),
                     "tokens");
  with_short_numbers(command.add_option("--measured-ms", a->question.measured_ms,
                                        "measured time of the step, to compare with"),
                     "ms");
  command.add_option("--catalog", a->catalog, kCatalogHelp);
  command.add_flag("--json", a->json, "print JSON");
  return [a] { return print(step_command(*a), a->json); };
}

}  // namespace

const Command kStepCommand{"step", "what one step costs, term by term", add_step};

}  // namespace headroom
