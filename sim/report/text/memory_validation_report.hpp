#pragma once
// What `headroom validate memory` prints: every row with its terms, the scores per group, and what
// the constants were chosen on; at most 110 columns. Or one JSON object.

#include <string>

#include "sim/memory/memory_validation.hpp"

namespace headroom {

inline constexpr std::size_t kValidationWidth = 110;

[[nodiscard]] std::string memory_validation_text(const MemoryValidation& validation);
[[nodiscard]] std::string memory_validation_json(const MemoryValidation& validation);

}  // namespace headroom
