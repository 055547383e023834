#pragma once
// The answer of `headroom tune` as JSON.

#include <string>

#include "sim/report/json/json_text.hpp"
#include "sim/study/tune/tune.hpp"

namespace headroom {

// `scenario`: with the best options, so that it can be run. `command`: of the engine; may be empty.
[[nodiscard]] nlohmann::ordered_json tune_json(const TuneAnswer& answer,
                                               const nlohmann::ordered_json& scenario,
                                               const std::string& command,
                                               const std::string& version);

}  // namespace headroom
