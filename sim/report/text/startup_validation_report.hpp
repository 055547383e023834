#pragma once
// The replayed start-ups of `headroom validate memory`: errors by engine, release and device, the
// rows that may choose constants apart from those that only score, and why a row is not replayed.

#include <nlohmann/json.hpp>
#include <string>

#include "sim/memory/startup_validation.hpp"

namespace headroom {

// Empty when there are no rows.
[[nodiscard]] std::string startup_validation_text(const StartupValidation& validation,
                                                  std::size_t width);
[[nodiscard]] nlohmann::ordered_json startup_validation_json(const StartupValidation& validation);

}  // namespace headroom
