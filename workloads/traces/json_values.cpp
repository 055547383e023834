#include "workloads/traces/json_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "workloads/traces/identity.hpp"

namespace headroom {

std::string_view first_json_key(const FileStart& start) {
  constexpr std::string_view kBlank = " \t\r\n";
  std::string_view rest = start.bytes;
  if (!rest.starts_with('{')) return {};
  rest.remove_prefix(1);
  rest.remove_prefix(std::min(rest.find_first_not_of(kBlank), rest.size()));
  if (!rest.starts_with('"')) return {};
  rest.remove_prefix(1);
  const std::size_t quote = rest.find('"');
  return quote == std::string_view::npos ? std::string_view() : rest.substr(0, quote);
}

std::string_view text_of(const JsonNode& object, std::string_view key) {
  const JsonNode* value = object.find(key);
  return value != nullptr ? std::string_view(value->text) : std::string_view();
}

std::int32_t need_count(const JsonRows& rows, const JsonNode& object, std::string_view key) {
  if (object.find(key) == nullptr) {
    rows.refuse(key, nullptr, fmt::format("an integer in 0 .. {}", INT32_MAX));
  }
  return rows.count(object, key);
}

std::uint64_t session_of(const JsonRows& rows, const JsonNode& object, std::string_view key) {
  const JsonNode* value = object.find(key);
  if (value == nullptr || value->kind == JsonNode::Kind::null) return kNoSession;
  const bool whole = value->text.find_first_not_of("0123456789") == std::string::npos;
  if (value->kind == JsonNode::Kind::text || (value->kind == JsonNode::Kind::number && whole)) {
    return session_of(value->text);
  }
  rows.refuse(key, value, "a text or an integer >= 0");
}

const std::vector<std::int64_t>& identities(const JsonRows& rows, const JsonNode& object,
                                            std::string_view key) {
  const std::vector<std::int64_t>& ids = rows.integers(object, key);
  const auto negative = std::ranges::find_if(ids, [](std::int64_t id) { return id < 0; });
  if (negative != ids.end()) {
    const JsonNode value{.kind = JsonNode::Kind::number, .text = std::to_string(*negative)};
    rows.refuse(key, &value, "integers >= 0");
  }
  return ids;
}

void refuse_ids(const JsonRows& rows, std::string_view key, std::size_t count,
                std::string_view wanted) {
  const JsonNode shown{.kind = JsonNode::Kind::text, .text = fmt::format("{} ids", count)};
  rows.refuse(key, &shown, wanted);
}

void read_block_ids(const JsonRows& rows, std::string_view key, std::int32_t block_tokens,
                    TraceRecord& record) {
  record.prefix.clear();
  const std::vector<std::int64_t>& ids = identities(rows, rows.row(), key);
  if (ids.empty()) return;
  const std::size_t blocks = blocks_of(record.prompt_tokens, block_tokens);
  if (ids.size() != blocks) {
    refuse_ids(rows, key, ids.size(),
               fmt::format("{}: one for each block of {} of the {} tokens", blocks, block_tokens,
                           record.prompt_tokens));
  }
  std::int32_t left = record.prompt_tokens;
  for (const std::int64_t id : ids) {
    const std::int32_t tokens = std::min(left, block_tokens);
    record.prefix.push_back({.id = static_cast<std::uint64_t>(id), .tokens = tokens});
    left -= tokens;
  }
}

}  // namespace headroom
