#pragma once
// The answer of `headroom ask` as JSON.

#include <span>
#include <string>

#include "sim/report/json/json_text.hpp"
#include "sim/study/ask/ask.hpp"

namespace headroom {

// `scenario`: the question as a scenario, so that it can be run.
[[nodiscard]] nlohmann::ordered_json ask_json(const AskAnswer& answer,
                                              const nlohmann::ordered_json& scenario,
                                              const std::string& version);

}  // namespace headroom
