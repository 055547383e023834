// `headroom calibrate DIR --calibration ID --runs ... --fit ...`: constants fitted on measured
// runs. `headroom calibrate FILE --calibration ID --device ID --fit ...`: on step times that
// hardware/probe/probe.py wrote. `headroom calibrate DIR --between-kernels`: what lies between
// measured kernels, for all engines at once.

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <system_error>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/app/command.hpp"
#include "sim/app/list.hpp"
#include "sim/app/threads.hpp"
#include "sim/fidelity/calibrate.hpp"
#include "sim/fidelity/joint_fit.hpp"
#include "sim/fidelity/step_time_fit.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/folders.hpp"
#include "sim/report/files/created_folders.hpp"
#include "sim/report/files/replaced_file.hpp"
#include "sim/report/text/calibrate_report.hpp"

namespace headroom {
namespace {

struct CalibrateArguments {
  std::string source;  // folder of runs, or file of the probe
  std::string calibration;
  std::vector<std::string> runs;  // of a folder
  std::string device;             // of a file; empty: the row's
  std::vector<std::string> fit;
  bool between_kernels = false;         // of all engines at once, instead of a row
  std::vector<std::string> own;         // of those, what each engine has for itself
  std::vector<std::string> unseen;      // data sets that are scored alone
  std::optional<double> ties;           // JointFitOptions::ties
  std::optional<std::int64_t> threads;  // empty: all cores
  std::string output;   // folder for the catalog file with the result; empty: print only
  std::string catalog;  // folder that overrides the embedded one; empty: none
};

struct Fitted {
  std::string file;  // of the catalog
  std::string text;
};

void check_arguments(const CalibrateArguments& arguments, bool is_file) {
  if (arguments.between_kernels) {
    for (const auto& [given, flag] : {std::pair(!arguments.calibration.empty(), "--calibration"),
                                      std::pair(!arguments.device.empty(), "--device")}) {
      if (given) {
        throw ConfigError(fmt::format("calibrate: {} cannot be used with --between-kernels", flag));
      }
    }
    if (is_file) throw ConfigError("calibrate: --between-kernels needs a folder of runs");
    return;
  }
  if (!arguments.own.empty()) {
    throw ConfigError("calibrate: --own has no effect without --between-kernels");
  }
  if (!arguments.unseen.empty()) {
    throw ConfigError("calibrate: --unseen has no effect without --between-kernels");
  }
  if (arguments.ties) {
    throw ConfigError("calibrate: --ties has no effect without --between-kernels");
  }
  if (arguments.calibration.empty()) {
    throw ConfigError(
        "calibrate: --calibration is missing: the row to start from (headroom list "
        "calibrations), or --between-kernels");
  }
  if (is_file && !arguments.runs.empty()) {
    throw ConfigError(fmt::format("calibrate: --runs needs a folder of runs, but {} is a file",
                                  arguments.source));
  }
  if (!is_file && arguments.runs.empty()) {
    throw ConfigError(
        fmt::format("calibrate: --runs is missing: name the runs in {} to fit on (headroom "
                    "validate runs lists them)",
                    arguments.source));
  }
  if (!is_file && !arguments.device.empty()) {
    throw ConfigError(
        "calibrate: --device needs a probe file; a folder of runs names its devices itself");
  }
}

Fitted fit_on_runs(const CalibrateArguments& arguments, const Catalog& catalog) {
  const CalibrationFit fit =
      calibrate({arguments.source, arguments.calibration, arguments.runs, arguments.fit}, catalog);
  return {calibrations_file(fit.calibration), calibrate_text(fit)};
}

Fitted fit_between(const CalibrateArguments& arguments, const Catalog& catalog) {
  const JointFit fit = fit_between_kernels({.directory = arguments.source,
                                            .runs = arguments.runs,
                                            .unseen = arguments.unseen,
                                            .fit = arguments.fit,
                                            .own = arguments.own,
                                            .ties = arguments.ties.value_or(1),
                                            .threads = threads_of(arguments.threads)},
                                           catalog);
  return {between_kernels_file(fit.rows), calibrate_text(fit)};
}

Fitted fit_on_steps(const CalibrateArguments& arguments, const Catalog& catalog) {
  const StepTimeFit fit =
      fit_step_times({arguments.calibration, arguments.device, arguments.fit},
                     read_step_times(read_json_file(arguments.source)), catalog);
  return {calibrations_file(fit.calibration), calibrate_text(fit)};
}

std::string calibrate_command(const CalibrateArguments& arguments) {
  if (!is_there(arguments.source)) {
    throw ConfigError(Complaint{.kind = ErrorKind::unreadable,
                                .origin = arguments.source,
                                .problem = "no such file or folder"});
  }
  const bool is_file = !is_folder(arguments.source);
  check_arguments(arguments, is_file);
  const Catalog catalog = load_catalog(arguments.catalog);
  // Before the work, so that an unwritable folder is reported at once.
  const std::filesystem::path file =
      std::filesystem::path(arguments.output) /
      (arguments.between_kernels ? "between_kernels.json" : "calibrations.json");
  std::optional<CreatedFolders> folders;
  std::optional<ReplacedFile> out;
  if (!arguments.output.empty()) {
    folders.emplace(arguments.output, arguments.output + ": cannot write: ");
    out.emplace(file.string());
  }
  const Fitted fitted = arguments.between_kernels ? fit_between(arguments, catalog)
                        : is_file                 ? fit_on_steps(arguments, catalog)
                                                  : fit_on_runs(arguments, catalog);
  if (!out) return fitted.text;
  out->write(fitted.file);
  out->publish();
  return fitted.text +
         fmt::format("Written: {} (run with --catalog {})\n", file.string(), arguments.output);
}

std::function<int()> add_calibrate(CLI::App& command) {
  const auto a = std::make_shared<CalibrateArguments>();
  command
      .add_option("source", a->source,
                  "folder of measured runs, or a file written by hardware/probe/probe.py")
      ->required();
  command.add_option("--calibration", a->calibration,
                     "row to start from (headroom list calibrations)");
  command.add_flag("--between-kernels", a->between_kernels,
                   "for a folder: what lies between measured kernels, on all runs that they price, "
                   "instead of a row");
  command
      .add_option("--own", a->own,
                  "with --between-kernels: constants that each engine has for itself (a,b@trtllm: "
                  "of b this one alone)")
      ->delimiter(',');
  command.add_option("-j,--threads", a->threads,
                     "with --between-kernels: replays in parallel (all cores)");
  command
      .add_option(
          "--runs", a->runs,
          "for a folder: data sets to fit on, as `validate runs` names them: a,b,... (all, with "
          "--between-kernels)")
      ->delimiter(',');
  command
      .add_option("--unseen", a->unseen,
                  "with --between-kernels: data sets to score alone, no constant learns of them: "
                  "a,b,...")
      ->delimiter(',');
  command.add_option(
      "--ties", a->ties,
      "with --between-kernels: how strongly constants hold to where they start and to their mean "
      "over the engines (1)");
  command.add_option("--device", a->device,
                     "for a file: catalog id of the probed device (default: the row's)");
  command.add_option("--fit", a->fit, "constants to fit, as the row names them: a,b,...")
      ->required()
      ->delimiter(',');
  command.add_option("-o,--output", a->output,
                     "folder to write the fitted constants to, as --catalog reads them");
  command.add_option("--catalog", a->catalog, kCatalogHelp);
  return [a] { return print(calibrate_command(*a)); };
}

}  // namespace

const Command kCalibrateCommand{"calibrate", "fit step costs to measured runs or steps",
                                add_calibrate};

}  // namespace headroom
