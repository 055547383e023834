#pragma once
// The answer of `headroom assert` as JSON.

#include <string>
#include <vector>

#include "sim/report/json/json_text.hpp"
#include "sim/study/assert/assert_runs.hpp"

namespace headroom {

[[nodiscard]] nlohmann::ordered_json assert_json(const std::vector<CheckedScenario>& scenarios,
                                                 const std::string& version);

}  // namespace headroom
