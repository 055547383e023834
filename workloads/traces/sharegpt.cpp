#include "workloads/traces/sharegpt.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "workloads/traces/trace_document.hpp"

namespace headroom {
namespace {

using Kind = JsonNode::Kind;

std::int32_t estimated_tokens(std::string_view text) {
  const auto bytes = static_cast<std::int64_t>(text.size());
  const std::int64_t tokens = (bytes + kShareGptBytesPerToken - 1) / kShareGptBytesPerToken;
  return static_cast<std::int32_t>(std::min<std::int64_t>(tokens, INT32_MAX));
}

// The path within a row: rows stand in an array ("#/...") or by themselves.
std::string_view row_path(std::string_view path, bool in_array) {
  if (!in_array) return path;
  path.remove_prefix(1);  // '#'
  if (path.starts_with('/')) path.remove_prefix(1);
  return path;
}

}  // namespace

class ShareGptReader::Conversations final : public TraceDocument::Handler {
 public:
  void open(TraceDocument& at) override {
    if (at.path().empty()) {
      in_array_ = at.kind() == Kind::array;
      if (in_array_) return;
    }
    const std::string_view path = row_path(at.path(), in_array_);
    if (path.empty()) {
      row_ = {};
      lengths_ = 0;
      has_turns_ = false;
    } else if (path == "conversations") {
      if (at.kind() != Kind::array) at.refuse("an array of turns");
      has_turns_ = true;
    } else if (path == "conversations/#/value") {
      at.refuse("a text");
    }
  }

  void value(TraceDocument& at) override {
    const std::string_view path = row_path(at.path(), in_array_);
    if (path.empty()) at.refuse("an object with conversations, or an array of lengths");
    if (path == "conversations/#/value") {
      if (at.kind() != Kind::text && at.kind() != Kind::null) at.refuse("a text");
      if (at.index() == 0) row_.prompt_tokens = estimated_tokens(at.text());
      if (at.index() == 1) row_.output_tokens = estimated_tokens(at.text());
    } else if (path == "#") {
      read_length(at);
    } else if (path == "conversations") {
      if (at.kind() != Kind::null) at.refuse("an array of turns");
      has_turns_ = true;
    }
  }

  void close(TraceDocument& at) override {
    if (at.path().empty() && in_array_) return;
    if (!row_path(at.path(), in_array_).empty()) return;
    if (at.kind() == Kind::array && lengths_ != 2) at.refuse("an array with two lengths");
    if (at.kind() == Kind::object && !has_turns_) at.refuse("an object with conversations");
    rows_.push_back(row_);
    at.count_row();
  }

  [[nodiscard]] std::vector<Row> take_rows() { return std::move(rows_); }

 private:
  void read_length(const TraceDocument& at) {
    if (at.index() == 0 && at.kind() == Kind::text) return;  // the prompt itself
    if (at.kind() != Kind::number || lengths_ == 2) at.refuse("two lengths");
    (lengths_ == 0 ? row_.prompt_tokens : row_.output_tokens) = at.count();
    ++lengths_;
  }

  bool in_array_ = false;
  Row row_;
  int lengths_ = 0;
  bool has_turns_ = false;
  std::vector<Row> rows_;
};

bool is_sharegpt(const FileStart& start) {
  std::string_view bytes = start.bytes;
  const bool array = bytes.starts_with('[');
  if (array) {
    bytes.remove_prefix(1);
    bytes.remove_prefix(std::min(bytes.find_first_not_of(" \t\r\n"), bytes.size()));
    if (bytes.starts_with('[')) return true;
  }
  return bytes.starts_with('{') && json_mentions(start, "conversations");
}

ShareGptReader::ShareGptReader(LineReader& lines) {
  TraceDocument document(lines);
  Conversations conversations;
  while (document.read(conversations)) {
  }
  rows_ = conversations.take_rows();
}

bool ShareGptReader::next(TraceRecord& record) {
  if (at_ == rows_.size()) return false;
  const Row& row = rows_[at_++];
  record.prompt_tokens = row.prompt_tokens;
  record.output_tokens = row.output_tokens;
  return true;
}

}  // namespace headroom
