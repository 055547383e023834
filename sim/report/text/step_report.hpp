#pragma once
// What `headroom step` prints.

#include <string>

#include "sim/fidelity/step_breakdown.hpp"

namespace headroom {

[[nodiscard]] std::string step_text(const StepBreakdown& step, const StepQuestion& question);
[[nodiscard]] std::string step_json(const StepBreakdown& step, const StepQuestion& question);

}  // namespace headroom
