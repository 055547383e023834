#include "workloads/traces/bailian.hpp"

#include <optional>

#include "workloads/traces/json_values.hpp"

namespace headroom {
namespace {

constexpr std::int32_t kBlockTokens = 16;  // of the published files, by their README and names

}  // namespace

bool is_bailian(const FileStart& start) {
  return !first_json_key(start).empty() && json_mentions(start, "chat_id") &&
         json_mentions(start, "input_length");
}

bool BailianReader::next(TraceRecord& record) {
  if (!rows_.next()) return false;
  const JsonNode& row = rows_.row();
  record.time_ns = rows_.need_time("timestamp", kNsPerSecond);
  record.prompt_tokens = need_count(rows_, row, "input_length");
  record.output_tokens = need_count(rows_, row, "output_length");
  record.session = root_of_row();
  record.class_name = {};
  if (const JsonNode* type = row.find("type")) {
    if (type->kind != JsonNode::Kind::text) rows_.refuse("type", type, "a text");
    record.class_name = type->text;
  }
  static_cast<void>(rows_.count("turn"));
  read_block_ids(rows_, "hash_ids", kBlockTokens, record);
  return true;
}

std::uint64_t BailianReader::root_of_row() {
  const JsonNode& row = rows_.row();
  const std::optional<std::int64_t> chat = rows_.integer(row, "chat_id");
  if (!chat || *chat < 0) rows_.refuse("chat_id", row.find("chat_id"), "an integer >= 0");
  const std::int64_t parent = rows_.integer(row, "parent_chat_id").value_or(-1);
  if (parent < -1) {
    rows_.refuse("parent_chat_id", row.find("parent_chat_id"), "a chat_id, or -1 for none");
  }
  // Every root is entered once and for all, so that no chain of parents is ever followed: a cycle
  // of parents ends at the row that came first.
  const std::int64_t root = parent == -1 ? *chat : roots_.try_emplace(parent, parent).first->second;
  return static_cast<std::uint64_t>(roots_.try_emplace(*chat, root).first->second);
}

}  // namespace headroom
