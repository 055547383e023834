#include "sim/app/calibrate_command.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <system_error>

#include "sim/app/list.hpp"
#include "sim/fidelity/calibrate.hpp"
#include "sim/fidelity/step_time_fit.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/folders.hpp"
#include "sim/report/calibrate_report.hpp"
#include "sim/report/created_folders.hpp"
#include "sim/report/replaced_file.hpp"

namespace headroom {
namespace {

struct Fitted {
  Calibration row;
  std::string text;
};

void check_arguments(const CalibrateArguments& arguments, bool is_file) {
  if (is_file && !arguments.runs.empty()) {
    throw ConfigError(fmt::format("calibrate: --runs goes with a folder of runs; {} is a file",
                                  arguments.source));
  }
  if (!is_file && arguments.runs.empty()) {
    throw ConfigError(
        fmt::format("calibrate: --runs: which of the runs in {}? (headroom validate "
                    "runs shows them)",
                    arguments.source));
  }
  if (!is_file && !arguments.device.empty()) {
    throw ConfigError("calibrate: --device goes with a file of the probe; runs name their device");
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

}  // namespace

std::string calibrate_command(const CalibrateArguments& arguments) {
  if (!is_there(arguments.source)) {
    throw ConfigError(Complaint{.kind = ErrorKind::unreadable,
                                .origin = arguments.source,
                                .problem = "no such file or folder"});
  }
  const bool is_file = !is_folder(arguments.source);
  check_arguments(arguments, is_file);
  const Catalog catalog = load_catalog(arguments.catalog);
  // Before the work: a folder that cannot be written is said at once.
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

}  // namespace headroom
