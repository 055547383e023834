#pragma once
// The result of a run as JSON text with a newline at the end. Every number carries its unit in its
// name. `version` is the program's own.

#include <string>

#include "sim/resolve/run.hpp"

namespace headroom {

// summary.json
[[nodiscard]] std::string summary_json(const RunResult& result, const std::string& version);
// resolved.json: every value with who set it.
[[nodiscard]] std::string resolved_json(const RunResult& result, const std::string& version);

}  // namespace headroom
