#pragma once
// What `headroom validate runs` prints: every run with its errors, then the scores per situation
// and metric; at most 110 columns. Or one JSON object.

#include <string>

#include "sim/fidelity/run_validation.hpp"

namespace headroom {

// "-3.3 %".
[[nodiscard]] std::string error_text(double share);

[[nodiscard]] std::string run_validation_text(const RunValidation& validation);
[[nodiscard]] std::string run_validation_json(const RunValidation& validation);

}  // namespace headroom
