#include "sim/app/calibrate_command.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "sim/app/list.hpp"
#include "sim/report/calibrate_report.hpp"
#include "sim/report/output_file.hpp"

namespace headroom {

std::string calibrate_command(const CalibrateArguments& arguments) {
  const Catalog catalog = load_catalog(arguments.catalog);
  const CalibrationFit fit = calibrate(
      {arguments.directory, arguments.calibration, arguments.runs, arguments.fit}, catalog);
  std::string text = calibrate_text(fit);
  if (arguments.output.empty()) return text;
  std::filesystem::create_directories(arguments.output);
  const std::filesystem::path file = std::filesystem::path(arguments.output) / "calibrations.json";
  OutputFile out(file.string());
  out.write(calibrations_file(fit.calibration));
  out.close();
  return text +
         fmt::format("Written: {} (run with --catalog {})\n", file.string(), arguments.output);
}

}  // namespace headroom
