#pragma once
// The answer of `headroom capacity` as JSON text.

#include <string>
#include <vector>

#include "sim/memory/capacity.hpp"
#include "sim/memory/worksheet.hpp"

namespace headroom {

// One system: its object itself. Several: {"systems": [...], "comparison": {...}}.
[[nodiscard]] std::string capacity_json(const std::vector<CapacityRow>& rows);
// {"worksheets": [...]}
[[nodiscard]] std::string worksheet_json(const std::vector<Worksheet>& sheets);

}  // namespace headroom
