#include "workloads/traces/burstgpt.hpp"

#include "workloads/traces/identity.hpp"

namespace headroom {

bool is_burstgpt(const FileStart& start) {
  return csv_header_has(start.first_line, "Timestamp") &&
         csv_header_has(start.first_line, "Request tokens") &&
         csv_header_has(start.first_line, "Response tokens");
}

BurstGptReader::BurstGptReader(LineReader& lines)
    : rows_(lines),
      time_(rows_.need("Timestamp")),
      prompt_(rows_.need("Request tokens")),
      output_(rows_.need("Response tokens")),
      model_(rows_.find("Model")),
      session_(rows_.find("Session ID")) {}

bool BurstGptReader::next(TraceRecord& record) {
  if (!rows_.next()) return false;
  record.time_ns = rows_.time(time_, kNsPerSecond);
  record.prompt_tokens = rows_.count(prompt_);
  record.output_tokens = rows_.count(output_);
  if (model_) record.class_name = rows_.text(*model_);
  if (session_) record.session = session_of(rows_.text(*session_));
  return true;
}

}  // namespace headroom
