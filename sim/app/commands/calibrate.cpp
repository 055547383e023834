// `headroom calibrate DIR --calibration ID --runs ... --fit ...`: constants fitted on measured
// runs. `headroom calibrate FILE --calibration ID --device ID --fit ...`: on step times that
// hardware/probe/probe.py wrote.

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <system_error>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/app/command.hpp"
#include "sim/app/list.hpp"
#include "sim/fidelity/calibrate.hpp"
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
  std::string output;   // folder for the calibrations.json; empty: print only
  std::string catalog;  // folder that overrides the embedded one; empty: none
};

struct Fitted {
  Calibration row;
  std::string text;
};

void check_arguments(const CalibrateArguments& arguments, bool is_file) {
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
  return {fit.calibration, calibrate_text(fit)};
}

Fitted fit_on_steps(const CalibrateArguments& arguments, const Catalog& catalog) {
  const StepTimeFit fit =
      fit_step_times({arguments.calibration, arguments.device, arguments.fit},
                     read_step_times(read_json_file(arguments.source)), catalog);
  return {fit.calibration, calibrate_text(fit)};
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
  const std::filesystem::path file = std::filesystem::path(arguments.output) / "calibrations.json";
  std::optional<CreatedFolders> folders;
  std::optional<ReplacedFile> out;
  if (!arguments.output.empty()) {
    folders.emplace(arguments.output, arguments.output + ": cannot write: ");
    out.emplace(file.string());
  }
  const Fitted fitted =
      is_file ? fit_on_steps(arguments, catalog) : fit_on_runs(arguments, catalog);
  if (!out) return fitted.text;
  out->write(calibrations_file(fitted.row));
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
  command
      .add_option("--calibration", a->calibration, "row to start from (headroom list calibrations)")
      ->required();
  command
      .add_option("--runs", a->runs,
                  "for a folder: data sets to fit on, as `validate runs` names them: a,b,...")
      ->delimiter(',');
  command.add_option("--device", a->device,
                     "for a file: catalog id of the probed device (default: the row's)");
  command.add_option("--fit", a->fit, "constants to fit, as the row names them: a,b,...")
      ->required()
      ->delimiter(',');
  command.add_option("-o,--output", a->output,
                     "folder to write calibrations.json with the fitted row to");
  command.add_option("--catalog", a->catalog, kCatalogHelp);
  return [a] { return print(calibrate_command(*a)); };
}

}  // namespace

const Command kCalibrateCommand{"calibrate", "fit step costs to measured runs or steps",
                                add_calibrate};

}  // namespace headroom
