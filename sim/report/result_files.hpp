#pragma once
// The result files of a run. Every number carries its unit in its name.

#include <string>

#include "sim/report/result_directory.hpp"
#include "sim/resolve/run.hpp"

namespace headroom {

// summary.json, as text with a newline at the end. `version` is the program's own.
[[nodiscard]] std::string summary_json(const RunResult& result, const std::string& version);
// resolved.json: every value with who set it.
[[nodiscard]] std::string resolved_json(const RunResult& result, const std::string& version);

void write_requests_csv(const RunResult& result, const std::string& path);
void write_timeline_csv(const RunResult& result, const std::string& path);
void write_events_jsonl(const RunResult& result, const std::string& path);

// All five files.
void write_results(const RunResult& result, const std::string& version,
                   const ResultDirectory& directory);

}  // namespace headroom
