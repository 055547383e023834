#pragma once
// `headroom calibrate DIR`: chosen constants of a step-cost row, fitted on measured runs by
// replaying them (sim/fidelity/bounded_fit.hpp: the fit, what it gives up, its intervals).
// Cross-validation: each run is scored with constants fitted on the others.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "hardware/catalog.hpp"
#include "sim/fidelity/bounded_fit.hpp"
#include "sim/fidelity/run_validation.hpp"

namespace headroom {

struct CalibrateOptions {
  std::filesystem::path directory;
  std::string calibration;  // row to start from, which the result replaces
  std::vector<std::string>
      runs;                      // data sets (`headroom validate runs`); a folder's name: all of it
  std::vector<std::string> fit;  // keys of constants
};

struct CrossValidatedRun {
  std::string data_set;
  std::vector<ScoredMetric> metrics;
};

struct CalibrationFit : ConstantsFit {  // calibration.fitted_runs says on what
  std::vector<ScoredRun> before;        // of the runs fitted on
  std::vector<ScoredRun> after;
  std::vector<CrossValidatedRun> left_out;  // empty with one run
  std::int64_t replays = 0;
};

// The runs of these data sets (`headroom validate runs` names them; a folder's name: all of it), in
// their order; none named: all. ConfigError: one that is not there.
[[nodiscard]] std::vector<const MeasuredRun*> chosen_runs(const std::filesystem::path& directory,
                                                          const std::vector<std::string>& data_sets,
                                                          const MeasuredRuns& measured);

// ConfigError: an unknown row, run or constant, or fewer figures than constants.
[[nodiscard]] CalibrationFit calibrate(const CalibrateOptions& options, const Catalog& catalog);

}  // namespace headroom
