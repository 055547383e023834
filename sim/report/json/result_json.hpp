#pragma once
// The result of a run as JSON text with a newline at the end. Every number carries its unit in its
// name. `version` is the program's own.

#include <string>

#include "sim/resolve/run.hpp"
#include "sim/resolve/run_verdict.hpp"

namespace headroom {

// summary.json; with `verdict`, also whether the traffic is held, why, and what binds.
[[nodiscard]] std::string summary_json(const RunResult& result, const std::string& version,
                                       const RunVerdict* verdict = nullptr);
// resolved.json: every value with who set it.
[[nodiscard]] std::string resolved_json(const RunResult& result, const std::string& version);

}  // namespace headroom
