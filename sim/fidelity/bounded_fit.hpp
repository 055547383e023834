#pragma once
// Chosen constants of a step-cost row fitted to figures, whatever these are: least squares of
// weighted log(simulated / measured), within the limits of each constant
// (hardware/calibration_fields.hpp), by damped Gauss-Newton steps.
//
// Constants that the figures do not determine are not fitted. Constants are scaled by their spread;
// while a direction among them changes the figures by less than 1 % per spread (root mean square),
// the one with the least part in what the figures do see is given up: it keeps the value that the
// row had, and is reported as not identified.
//
// Intervals are 95 %, from the residuals that remain; they say nothing of what the model leaves
// out.

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "hardware/calibration_fields.hpp"

namespace headroom {

struct FitProblem {
  Calibration row;  // to start from
  std::vector<const CalibrationField*> fields;
  // Figures come in groups that are left out together: a replayed run, the steps of a model.
  std::size_t groups = 0;
  // Of the figures of these groups, in a fixed order.
  std::function<std::vector<double>(const Calibration& row, std::span<const std::size_t> groups)>
      residuals;
  // Of a spread, to both sides of a derivative. Queues answer to small changes in jumps and need a
  // wide one; smooth figures are better off with a narrow one.
  double derivative_step = 0.5;
};

struct FittedConstant {
  const CalibrationField* field = nullptr;
  double before = 0;  // in the file's unit, as the others
  double value = 0;
  double interval = 0;  // half of the 95 % interval
  bool identified = true;
  bool at_limit = false;  // the fit would have it beyond the range of what was ever measured
};

struct ConstantsFit {
  Calibration calibration;  // the problem's row with the fitted constants
  std::vector<FittedConstant> constants;
  double rms_before = 0;  // of the residuals
  double rms_after = 0;
};

// The constants with these keys. ConfigError: an unknown one, one named twice, none.
[[nodiscard]] std::vector<const CalibrationField*> constants_to_fit(
    const std::vector<std::string>& keys);

// ConfigError: fewer figures than constants.
[[nodiscard]] ConstantsFit fit_constants(const FitProblem& problem);

// Cross-validation: for each group, the row fitted without it; empty with one group.
[[nodiscard]] std::vector<Calibration> fit_without_each(const FitProblem& problem);

}  // namespace headroom
