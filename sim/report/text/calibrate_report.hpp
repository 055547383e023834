#pragma once
// What `headroom calibrate` prints: constants before and after with their intervals, the errors of
// every run, or of every group of steps, before, after and when it was left out; at most 110
// columns.

#include <string>
#include <vector>

#include "sim/fidelity/calibrate.hpp"
#include "sim/fidelity/joint_fit.hpp"
#include "sim/fidelity/step_time_fit.hpp"

namespace headroom {

[[nodiscard]] std::string calibrate_text(const CalibrationFit& fit);
[[nodiscard]] std::string calibrate_text(const StepTimeFit& fit);

[[nodiscard]] std::string calibrate_text(const JointFit& fit);

// A calibrations.json with the row, as `--catalog` accepts it.
[[nodiscard]] std::string calibrations_file(const Calibration& calibration);
// A between_kernels.json with the rows, likewise.
[[nodiscard]] std::string between_kernels_file(const std::vector<BetweenKernels>& rows);

}  // namespace headroom
