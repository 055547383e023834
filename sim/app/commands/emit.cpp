// `headroom emit`: a scenario's fleet in the form that people deploy.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <atomic>
#include <cstdio>
#include <memory>
#include <string>

#include "sim/app/command.hpp"
#include "sim/app/emitting.hpp"
#include "sim/app/input_text.hpp"
#include "sim/app/interruption.hpp"
#include "sim/app/list.hpp"
#include "sim/app/progress.hpp"
#include "sim/deploy/emit.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/report/files/emitted_files.hpp"
#include "sim/report/json/deployment_head.hpp"
#include "sim/resolve/run.hpp"
#include "sim/scenario/scenario_file.hpp"

namespace headroom {
namespace {

struct EmitArguments {
  std::string scenario;
  std::string form;
  std::string output;
  std::string catalog;
  ScenarioFlags flags;
};

int emit_command(const EmitArguments& a) {
  const Scenario scenario = load_scenario(a.scenario, a.flags);
  const Catalog catalog = load_catalog(a.catalog);
  // Refused before the run where it cannot be written.
  EmittedDeployment emitted = emit_deployment(a.form, scenario, catalog, {});
  if (a.output.empty() && emitted.files.size() > 1) {
    throw ConfigError(
        fmt::format("emit: {} is {} files: name a folder with -o", a.form, emitted.files.size()));
  }
  if (!a.output.empty()) check_emit_target(emitted.files, a.output);
  const std::atomic<bool>& interrupted = stop_on_signals();
  RunResult result;
  {
    Progress progress;
    result = run(scenario, catalog, {&interrupted, progress.done(), nullptr});
  }
  if (interrupted) return interrupted_exit_code();
  emitted = emit_deployment(a.form, scenario, catalog, deployment_head(result, kVersion, catalog));
  if (a.output.empty()) {
    print(emitted.files.front().text);
  } else {
    write_emitted_files(emitted.files, a.output);
  }
  tell_not_said(emitted);
  return 0;
}

std::function<int()> add_emit(CLI::App& command) {
  const auto a = std::make_shared<EmitArguments>();
  command.add_option("scenario", a->scenario, "a file, or a name from `list scenarios`")
      ->required();
  command.add_option("--form", a->form, forms_help())->required();
  command.add_option("-o,--output", a->output, "a new folder, or a file (standard output)");
  command.add_option("--set", a->flags.set, "path=value, changes the scenario")
      ->allow_extra_args(false);
  command.add_option("--trace", a->flags.trace, "replay this trace file");
  command.add_option("--catalog", a->catalog, kCatalogHelp);
  return [a] {
    a->scenario = input_path(a->scenario);
    return emit_command(*a);
  };
}

}  // namespace

const Command kEmitCommand{
    "emit", "write the fleet as Kubernetes objects, Helm values, compose ...", add_emit};

}  // namespace headroom
