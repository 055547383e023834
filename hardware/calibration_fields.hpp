#pragma once
// The constants of a Calibration by the names, units and limits that they have in
// calibrations.json.

#include <span>
#include <string_view>

#include "hardware/calibration.hpp"

namespace headroom {

struct CalibrationField {
  std::string_view key;
  double Calibration::*member = nullptr;
  double unit = 1;  // the field's value = unit x the file's number
  double low = 0;   // legal numbers of the file
  double high = 1;
  // What a fit may choose: the range of what was ever measured, and a width for "as far as known".
  double fit_low = 0;
  double fit_high = 1;
  double spread = 0.1;
  bool may_be_absent = false;  // of a file: the Calibration's own value stands
};

[[nodiscard]] std::span<const CalibrationField> calibration_fields();
// ConfigError naming the nearest known one.
[[nodiscard]] const CalibrationField& calibration_field(std::string_view key);

}  // namespace headroom
