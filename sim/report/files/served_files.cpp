#include "sim/report/files/served_files.hpp"

#include "sim/report/files/output_file.hpp"
#include "sim/report/json/json_text.hpp"
#include "workloads/traces/headroom_csv_writer.hpp"

namespace headroom {
namespace {

constexpr const char* kServedTraceFile = "trace.csv";
constexpr const char* kServedScenarioFile = "scenario.json";

}  // namespace

std::vector<std::string> served_file_names() { return {kServedTraceFile, kServedScenarioFile}; }

void write_served_files(const Json& scenario, const std::vector<TraceRecord>& trace,
                        const ResultDirectory& directory) {
  TraceCsvColumns columns;
  for (const TraceRecord& record : trace) columns.include(record);
  OutputFile table(directory.path(kServedTraceFile));
  TraceCsvWriter writer([&table](std::string_view text) { table.write(text); }, columns);
  for (const TraceRecord& record : trace) writer.write(record);
  writer.finish();
  table.close();
  OutputFile document(directory.path(kServedScenarioFile));
  document.write(json_text(scenario));
  document.close();
}

}  // namespace headroom
