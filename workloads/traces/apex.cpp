#include "workloads/traces/apex.hpp"

#include "workloads/traces/json_values.hpp"

namespace headroom {

bool is_apex(const FileStart& start) {
  return !first_json_key(start).empty() && json_mentions(start, "ContextTokens") &&
         json_mentions(start, "StartTimeOffset");
}

bool ApexReader::next(TraceRecord& record) {
  if (!rows_.next()) return false;
  record.time_ns = rows_.need_time("StartTimeOffset", 1);
  record.prompt_tokens = need_count(rows_, rows_.row(), "ContextTokens");
  record.output_tokens = need_count(rows_, rows_.row(), "GeneratedTokens");
  return true;
}

}  // namespace headroom
