// `headroom validate memory DIR`: the budget rules against logged start-ups; `headroom validate
// runs DIR`: measured runs replayed.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "sim/app/command.hpp"
#include "sim/app/list.hpp"
#include "sim/app/threads.hpp"
#include "sim/fidelity/ablation.hpp"
#include "sim/fidelity/run_validation.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/folders.hpp"
#include "sim/memory/memory_validation.hpp"
#include "sim/report/files/replaced_file.hpp"
#include "sim/report/page/html_report.hpp"
#include "sim/report/text/ablation_report.hpp"
#include "sim/report/text/memory_validation_report.hpp"
#include "sim/report/text/run_validation_report.hpp"

namespace headroom {
namespace {

struct ValidateArguments {
  std::string what = "memory";
  std::string directory;
  std::string level = "auto";  // of runs: what prices their steps
  std::string tables;   // of runs: a folder of kernel profiles to price from; empty: by level
  std::string catalog;  // folder that overrides the embedded one; empty: none
  bool ablate = false;  // of runs: remove the terms of the step cost one by one
  std::optional<std::int64_t> threads;  // empty: all cores
  bool json = false;
  std::string html;  // of runs: a page to write; empty: none
  std::string date;  // that it shows
};

std::string validate_runs_command(const ValidateArguments& arguments, const Catalog& catalog) {
  if (!arguments.tables.empty() && !is_folder(arguments.tables)) {
    throw ConfigError(fmt::format("--tables {}: no such folder", arguments.tables));
  }
  const bool own_level = arguments.level != "auto";
  if (own_level && (arguments.ablate || !arguments.tables.empty())) {
    throw ConfigError("--level cannot be used with --tables or --ablate, which have their own");
  }
  if (!arguments.date.empty() && arguments.html.empty()) {
    throw ConfigError("--date can be used only with --html");
  }
  const std::size_t threads = threads_of(arguments.threads);
  if (arguments.ablate) {
    if (!arguments.html.empty()) throw ConfigError("--ablate cannot be used with --html");
    if (!arguments.tables.empty()) throw ConfigError("--ablate cannot be used with --tables");
    const Ablations ablations = ablate_runs(arguments.directory, catalog, threads);
    return arguments.json ? ablation_json(ablations) : ablation_text(ablations);
  }
  // Refused before the replays where it cannot be written.
  std::optional<ReplacedFile> file;
  if (!arguments.html.empty()) file.emplace(arguments.html);
  const RunValidation validation = validate_runs({.directory = arguments.directory,
                                                  .level = arguments.level,
                                                  .tables = arguments.tables,
                                                  .threads = threads},
                                                 catalog);
  if (file) {
    file->write(accuracy_page(run_validation_json(validation), arguments.date, kVersion));
    file->publish();
  }
  return arguments.json ? run_validation_json(validation) : run_validation_text(validation);
}

std::string validate_command(const ValidateArguments& arguments) {
  const Catalog catalog = load_catalog(arguments.catalog);
  if (arguments.what == "runs") return validate_runs_command(arguments, catalog);
  if (arguments.what != "memory") {
    throw ConfigError(fmt::format("validate {}: expected memory or runs", arguments.what));
  }
  for (const auto& [given, flag] :
       {std::pair(!arguments.tables.empty(), "--tables"), std::pair(arguments.ablate, "--ablate"),
        std::pair(arguments.level != "auto", "--level"),
        std::pair(!arguments.html.empty(), "--html"), std::pair(!arguments.date.empty(), "--date"),
        std::pair(arguments.threads.has_value(), "--threads")}) {
    if (given) throw ConfigError(fmt::format("{}: for `validate runs` only", flag));
  }
  const MemoryValidation validation = validate_memory(arguments.directory, catalog);
  return arguments.json ? memory_validation_json(validation) : memory_validation_text(validation);
}

std::function<int()> add_validate(CLI::App& command) {
  const auto a = std::make_shared<ValidateArguments>();
  command
      .add_option("what", a->what,
                  "memory: compare budget rules with logged start-ups; runs: replay measured runs")
      ->required();
  command.add_option("directory", a->directory, "folder with the measurements")->required();
  command
      .add_option("--level", a->level, "for runs: what prices their steps (auto), as in cost.level")
      ->check(CLI::IsMember({"auto", "calibrated", "kernels"}));
  command.add_option(
      "--tables", a->tables,
      "for runs: price them from the kernel profiles (meta.yaml, tp<N>/) in this folder");
  command.add_flag("--ablate", a->ablate,
                   "for runs: drop each term of the step cost in turn and show the effect");
  command.add_option("-j,--threads", a->threads, "for runs: replays in parallel (all cores)");
  command.add_option("--html", a->html, "for runs: write the scores and all runs as a page");
  command.add_option("--date", a->date, "for --html: the day that the page names");
  command.add_option("--catalog", a->catalog, kCatalogHelp);
  command.add_flag("--json", a->json, "print JSON");
  return [a] { return print(validate_command(*a), a->json); };
}

}  // namespace

const Command kValidateCommand{"validate", "compare the models with measurements", add_validate};

}  // namespace headroom
