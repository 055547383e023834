#pragma once
// The constants of BetweenKernels by the names, units and limits that they have in
// between_kernels.json.

#include <span>
#include <string_view>

#include "hardware/between_kernels.hpp"

namespace headroom {

struct BetweenField {
  std::string_view key;
  double BetweenKernels::*member = nullptr;
  double unit = 1;      // the field's value = unit x the file's number
  double high = 1;      // legal numbers of the file go from 0 to this
  double fit_high = 1;  // a fit may choose 0 to this: what was ever measured
  double spread = 1;    // "as far as known" before any fit, in the file's unit
};

[[nodiscard]] std::span<const BetweenField> between_fields();
// ConfigError naming the nearest known one.
[[nodiscard]] const BetweenField& between_field(std::string_view key);

}  // namespace headroom
