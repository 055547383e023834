#pragma once
// The result files of a run. Every number carries its unit in its name.

#include <string>

#include "sim/report/files/result_directory.hpp"
#include "sim/resolve/run_verdict.hpp"

namespace headroom {

void write_requests_csv(const RunResult& result, const std::string& path);
void write_timeline_csv(const RunResult& result, const std::string& path);
void write_events_jsonl(const RunResult& result, const std::string& path);

// One row per hand-over, in the order in which prompts were complete. Only where replicas have
// roles.
void write_transfers_csv(const RunResult& result, const std::string& path);

// All five files.
void write_results(const RunResult& result, const RunVerdict& verdict, const std::string& version,
                   const ResultDirectory& directory);

}  // namespace headroom
