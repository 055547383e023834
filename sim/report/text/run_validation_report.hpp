#pragma once
// What `headroom validate runs` prints: the runs with their errors, then the scores by engine,
// device and class of models, and by situation; at most 110 columns. Or one JSON object.

#include <string>

#include "sim/fidelity/run_validation.hpp"

namespace headroom {

// "-3.3 %".
[[nodiscard]] std::string error_text(double share);

// A table of the scores by engine, device and class of models.
[[nodiscard]] std::string class_scores_text(const RunValidation& validation);

[[nodiscard]] std::string run_validation_text(const RunValidation& validation);
[[nodiscard]] std::string run_validation_json(const RunValidation& validation);

}  // namespace headroom
