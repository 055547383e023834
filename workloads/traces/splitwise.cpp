#include "workloads/traces/splitwise.hpp"

namespace headroom {

bool is_splitwise(const FileStart& start) {
  return csv_header_has(start.first_line, "arrival_timestamp") &&
         csv_header_has(start.first_line, "prompt_size") &&
         csv_header_has(start.first_line, "token_size");
}

SplitwiseReader::SplitwiseReader(LineReader& lines)
    : rows_(lines),
      time_(rows_.need("arrival_timestamp")),
      prompt_(rows_.need("prompt_size")),
      output_(rows_.need("token_size")),
      type_(rows_.find("request_type")),
      application_(rows_.find("application_id")),
      batch_(rows_.find("batch_size")) {}

bool SplitwiseReader::next(TraceRecord& record) {
  constexpr std::int32_t kGenerativeLlm = 2;  // RequestType of splitwise-sim, request.py
  if (!rows_.next()) return false;
  if (type_ && rows_.count(*type_) != kGenerativeLlm) {
    rows_.refuse(*type_, "2 (generative LLM), the only type that splitwise-sim knows");
  }
  if (batch_ && rows_.count(*batch_) != 1) rows_.refuse(*batch_, "1: one prompt in each request");
  record.time_ns = rows_.time(time_, kNsPerSecond);
  record.prompt_tokens = rows_.count(prompt_);
  record.output_tokens = rows_.count(output_);
  if (application_) record.class_name = rows_.text(*application_);
  return true;
}

}  // namespace headroom
