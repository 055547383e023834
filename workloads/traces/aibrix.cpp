#include "workloads/traces/aibrix.hpp"

#include "workloads/traces/json_values.hpp"

namespace headroom {
namespace {

// The first of two spellings that the request has.
std::string_view spelling(const JsonNode& request, std::string_view older, std::string_view newer) {
  return request.find(older) != nullptr ? older : newer;
}

}  // namespace

bool is_aibrix(const FileStart& start) {
  const std::string_view first = first_json_key(start);
  return (first == "timestamp" || first == "requests") && json_mentions(start, "timestamp") &&
         json_mentions(start, "requests") && !json_mentions(start, "hash_id_scope");
}

bool AibrixReader::next(TraceRecord& record) {
  while (requests_ == nullptr || next_request_ == requests_->items.size()) {
    if (!next_row()) return false;
  }
  read_request(requests_->items[next_request_++], record);
  return true;
}

bool AibrixReader::next_row() {
  if (!rows_.next()) return false;
  time_ns_ = rows_.need_time("timestamp", kNsPerMs);
  requests_ = rows_.row().find("requests");
  next_request_ = 0;
  const bool is_list = requests_ != nullptr && requests_->kind == JsonNode::Kind::array;
  if (!is_list || !requests_->integers.empty()) {
    rows_.refuse("requests", requests_, "an array of objects");
  }
  return true;
}

void AibrixReader::read_request(const JsonNode& request, TraceRecord& record) {
  if (request.kind != JsonNode::Kind::object) rows_.refuse("requests", &request, "objects");
  record.time_ns = time_ns_;
  record.prompt_tokens =
      need_count(rows_, request, spelling(request, "Prompt Length", "prompt_length"));
  record.output_tokens =
      need_count(rows_, request, spelling(request, "Output Length", "output_length"));
  record.session = session_of(rows_, request, "session_id");
}

}  // namespace headroom
