#pragma once
// What a server leaves beside the results of its run (result_files.hpp): the requests as they came
// (trace.csv), and the scenario that replays them (scenario.json).

#include <string>
#include <vector>

#include "sim/options/json.hpp"
#include "sim/report/files/result_directory.hpp"
#include "workloads/traces/trace_record.hpp"

namespace headroom {

[[nodiscard]] std::vector<std::string> served_file_names();

// `scenario`: its workload names the trace. ConfigError: a file cannot be written.
void write_served_files(const Json& scenario, const std::vector<TraceRecord>& trace,
                        const ResultDirectory& directory);

}  // namespace headroom
