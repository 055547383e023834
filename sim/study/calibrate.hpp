#pragma once
// `headroom calibrate`: chosen constants of a step-cost row, fitted on measured runs by replaying
// them. Weighted least squares of log(simulated / measured), within the limits of each constant
// (hardware/calibration_fields.hpp), by damped Gauss-Newton steps.
//
// What the runs cannot tell apart is not fitted. Constants are scaled by their spread; while a
// direction among them changes the figures by less than 1 % per spread (root mean square), the one
// with the least part in what the figures do see is given up: it keeps the value that the row had,
// and is reported as not identified.
//
// Intervals are 95 %, from the residuals that remain; they say nothing of what the model leaves
// out. Cross-validation: each run is scored with constants fitted on the others.

#include <filesystem>
#include <string>
#include <vector>

#include "hardware/calibration_fields.hpp"
#include "hardware/catalog.hpp"
#include "sim/study/run_validation.hpp"

namespace headroom {

struct CalibrateOptions {
  std::filesystem::path directory;
  std::string calibration;  // row to start from, which the result replaces
  std::vector<std::string>
      runs;                      // data sets (`headroom validate runs`); a folder's name: all of it
  std::vector<std::string> fit;  // keys of constants
};

struct FittedConstant {
  const CalibrationField* field = nullptr;
  double before = 0;  // in the file's unit, as the others
  double value = 0;
  double interval = 0;  // half of the 95 % interval
  bool identified = true;
  bool at_limit = false;  // the fit would have it beyond the range of what was ever measured
};

struct CrossValidatedRun {
  std::string data_set;
  std::vector<ScoredMetric> metrics;
};

struct CalibrationFit {
  Calibration calibration;  // fitted_runs says on what
  std::vector<FittedConstant> constants;
  std::vector<ScoredRun> before;  // of the runs fitted on
  std::vector<ScoredRun> after;
  std::vector<CrossValidatedRun> left_out;  // empty with one run
  double rms_before = 0;                    // of the weighted log errors
  double rms_after = 0;
  std::int64_t replays = 0;
};

// ConfigError: an unknown row, run or constant, or fewer figures than constants.
[[nodiscard]] CalibrationFit calibrate(const CalibrateOptions& options, const Catalog& catalog);

}  // namespace headroom
