#include "sim/app/calibrate_command.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <system_error>

#include "sim/app/list.hpp"
#include "sim/report/calibrate_report.hpp"
#include "sim/report/replaced_file.hpp"

namespace headroom {

std::string calibrate_command(const CalibrateArguments& arguments) {
  const Catalog catalog = load_catalog(arguments.catalog);
  // Before the work: a folder that cannot be written is said at once.
  const std::filesystem::path file = std::filesystem::path(arguments.output) / "calibrations.json";
  std::optional<ReplacedFile> out;
  if (!arguments.output.empty()) {
    std::error_code failed;
    std::filesystem::create_directories(arguments.output, failed);
    out.emplace(file.string());
  }
  const CalibrationFit fit = calibrate(
      {arguments.directory, arguments.calibration, arguments.runs, arguments.fit}, catalog);
  std::string text = calibrate_text(fit);
  if (!out) return text;
  out->write(calibrations_file(fit.calibration));
  out->publish();
  return text +
         fmt::format("Written: {} (run with --catalog {})\n", file.string(), arguments.output);
}

}  // namespace headroom
