#include "workloads/traces/weka.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "workloads/traces/json_values.hpp"

namespace headroom {
namespace {

using Kind = JsonNode::Kind;

constexpr std::int32_t kUsualBlockTokens = 64;

}  // namespace

bool is_weka(const FileStart& start) {
  const FileStart row{.first_line = start.first_line, .bytes = start.first_line};
  const bool has_blocks = json_mentions(row, "hash_id_scope") || json_mentions(row, "block_size");
  return row.bytes.starts_with('{') && has_blocks && json_mentions(row, "requests");
}

bool WekaReader::next(TraceRecord& record) {
  while (at_ == requests_.size()) {
    if (!next_session()) return false;
  }
  const Request& request = requests_[at_++];
  const JsonNode& node = *request.node;
  const std::optional<TimeNs> time_ns = rows_.time(node, "t", kNsPerSecond);
  if (!time_ns) rows_.refuse("t", node.find("t"), "seconds since the start of the session");
  record.time_ns = *time_ns;
  record.prompt_tokens = need_count(rows_, node, "in");
  record.output_tokens = need_count(rows_, node, "out");
  record.class_name = text_of(node, "model");
  record.session = session_;
  const TimeNs think_ns = rows_.time(node, "think_time", kNsPerSecond).value_or(-1);
  record.after_previous_ns = request.at_own_time ? -1 : think_ns;
  record.measured_ttft_ns = rows_.time(node, "ttft", kNsPerSecond).value_or(-1);
  record.measured_e2el_ns = rows_.time(node, "api_time", kNsPerSecond).value_or(-1);
  read_prefix(node, record);
  return true;
}

bool WekaReader::next_session() {
  if (!rows_.next()) return false;
  const JsonNode& row = rows_.row();
  session_ = session_of(rows_, row, "id");
  if (session_ == kNoSession) rows_.refuse("id", row.find("id"), "the name of the session");
  if (!sessions_read_.insert(session_).second) {
    rows_.refuse("id", row.find("id"), "a session that was not read before");
  }
  const std::string_view scope = text_of(row, "hash_id_scope");
  ids_are_global_ = scope == "global";
  if (!scope.empty() && scope != "local" && !ids_are_global_) {
    rows_.refuse("hash_id_scope", row.find("hash_id_scope"), "local or global");
  }
  block_tokens_ = kUsualBlockTokens;
  if (row.find("block_size") != nullptr) block_tokens_ = rows_.count("block_size");
  if (block_tokens_ == 0) rows_.refuse("block_size", row.find("block_size"), "at least 1");
  requests_.clear();
  at_ = 0;
  flatten(row);
  return true;
}

// Recursion no deeper than JsonNode's nesting.
void WekaReader::flatten(const JsonNode& parent) {
  const std::size_t first = requests_.size();
  bool nobody_waits = false;
  for (const JsonNode& entry : need_array(parent, "requests").items) {
    if (entry.kind != Kind::object) rows_.refuse("requests", &entry, "objects");
    const std::string_view type = text_of(entry, "type");
    if (type == "subagent") {
      static_cast<void>(rows_.time(entry, "t", kNsPerSecond));  // checked, not used
      const std::size_t before = requests_.size();
      flatten(entry);
      if (requests_.size() == before) continue;
      nobody_waits = text_of(entry, "status") == "async_launched";
    } else if (type == "n" || type == "s") {
      const bool at_own_time = requests_.size() == first || nobody_waits;
      requests_.push_back({.node = &entry, .at_own_time = at_own_time});
      nobody_waits = false;
    } else {
      rows_.refuse("type", entry.find("type"), "n, s or subagent");
    }
  }
}

void WekaReader::read_prefix(const JsonNode& request, TraceRecord& record) const {
  record.prefix.clear();
  const std::vector<std::int64_t>& ids = identities(rows_, request, "hash_ids");
  if (ids.size() > blocks_of(record.prompt_tokens, block_tokens_)) {
    refuse_ids(rows_, "hash_ids", ids.size(),
               fmt::format("at most {}: one for each block of {} of the {} tokens",
                           blocks_of(record.prompt_tokens, block_tokens_), block_tokens_,
                           record.prompt_tokens));
  }
  std::int32_t left = record.prompt_tokens;
  for (const std::int64_t id : ids) {
    const std::int32_t tokens = std::min(left, block_tokens_);
    const auto block = static_cast<std::uint64_t>(id);
    record.prefix.push_back(
        {.id = ids_are_global_ ? block : mixed_id(session_, block), .tokens = tokens});
    left -= tokens;
  }
}

const JsonNode& WekaReader::need_array(const JsonNode& object, std::string_view key) const {
  const JsonNode* value = object.find(key);
  const bool fits = value != nullptr && value->kind == Kind::array && value->integers.empty();
  if (!fits) rows_.refuse(key, value, "an array of objects");
  return *value;
}

}  // namespace headroom
