#include "workloads/traces/sharegpt.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "workloads/traces/trace_document.hpp"

namespace headroom {
namespace {

using Kind = JsonNode::Kind;

// The path within a row: rows are in an array ("#/...") or on their own.
std::string_view row_path(std::string_view path, bool in_array) {
  if (!in_array) return path;
  path.remove_prefix(1);  // '#'
  if (path.starts_with('/')) path.remove_prefix(1);
  return path;
}

}  // namespace

std::int32_t estimated_tokens(std::string_view text) {
  const auto bytes = static_cast<std::int64_t>(text.size());
  const std::int64_t tokens = (bytes + kShareGptBytesPerToken - 1) / kShareGptBytesPerToken;
  return static_cast<std::int32_t>(std::min<std::int64_t>(tokens, INT32_MAX));
}

class ShareGptReader::Conversations final : public TraceDocument::Handler {
 public:
  void open(TraceDocument& at) override {
    if (at.path().empty()) {
      in_array_ = at.kind() == Kind::array;
      if (in_array_) return;
    }
    const Place place = place_of(at);
    if (place.in_row.empty()) {
      begin_row();
    } else if (place.list == nullptr) {
      return;
    } else if (place.in_list.empty()) {
      if (at.kind() != Kind::array) at.refuse("an array of turns");
      place.list->is_there = true;
    } else if (place.in_list == "#") {
      turn_ = {};
      turn_.number = place.list->turns++;
    } else if (is_text(place.in_list) &&
               !(place.in_list == "#/content" && at.kind() == Kind::array)) {
      at.refuse("a text");
    }
  }

  void value(TraceDocument& at) override {
    const Place place = place_of(at);
    if (place.in_row.empty()) at.refuse("an object with conversations, or an array of lengths");
    if (place.in_row == "#") {
      read_length(at);
    } else if (place.list != nullptr) {
      read_turn(at, place);
    } else if (place.in_row == "tstamp") {
      time_ns_ = at.time(kNsPerSecond).value_or(kNoTime);
    } else if (place.in_row == "model" || place.in_row == "model_a") {
      models_[0] = at.text();
    } else if (place.in_row == "model_b") {
      models_[1] = at.text();
    }
  }

  void close(TraceDocument& at) override {
    if (at.path().empty() && in_array_) return;
    const Place place = place_of(at);
    if (place.list != nullptr && place.in_list == "#") end_turn(at, *place.list);
    if (place.in_row.empty()) end_row(at);
  }

  [[nodiscard]] std::vector<Row> take_rows() { return std::move(rows_); }

 private:
  struct Turns {
    std::string_view key;
    bool is_lmsys = false;  // the row's model is its class
    bool is_there = false;
    int turns = 0;
    bool is_answered = false;
    std::int64_t prompt_tokens = 0;
    std::int64_t output_tokens = 0;
  };
  struct Turn {
    int number = 0;
    std::int64_t tokens = 0;
    bool has_text = false;
    std::string role;
  };
  // A value's place: its path in the row and, within a list of turns, the list and the path there.
  struct Place {
    std::string_view in_row;
    Turns* list = nullptr;
    std::string_view in_list = {};
  };

  static bool is_text(std::string_view in_list) {
    return in_list == "#/value" || in_list == "#/content" || in_list == "#/content/#/text";
  }

  [[nodiscard]] Place place_of(const TraceDocument& at) {
    Place place{.in_row = row_path(at.path(), in_array_)};
    const std::string_view key = place.in_row.substr(0, place.in_row.find('/'));
    const auto found = std::ranges::find(lists_, key, &Turns::key);
    if (found == lists_.end()) return place;
    place.list = &*found;
    place.in_list = place.in_row.substr(std::min(key.size() + 1, place.in_row.size()));
    return place;
  }

  void begin_row() {
    for (Turns& list : lists_) list = {.key = list.key, .is_lmsys = list.is_lmsys};
    models_ = {};
    time_ns_ = kNoTime;
    counted_ = {};
    lengths_ = 0;
  }

  void read_turn(const TraceDocument& at, const Place& place) {
    const bool is_null = at.kind() == Kind::null;
    if (place.in_list.empty()) {
      if (!is_null) at.refuse("an array of turns");
      place.list->is_there = true;
    } else if (place.in_list == "#") {
      at.refuse("a turn: an object with a value or content");
    } else if (is_text(place.in_list)) {
      if (at.kind() != Kind::text && !is_null) at.refuse("a text");
      turn_.tokens += estimated_tokens(at.text());
      turn_.has_text = true;
    } else if (place.in_list == "#/role") {
      turn_.role = at.text();
    } else if (place.in_list == "#/content/#/type" && !at.text().ends_with("text")) {
      at.refuse("text, because the tokens of anything else cannot be counted");
    }
  }

  void end_turn(const TraceDocument& at, Turns& list) const {
    if (!turn_.has_text && turn_.role.empty()) at.refuse("a turn with a value or content");
    if (turn_.role.empty()) {  // any speaker
      if (turn_.number == 0) list.prompt_tokens = turn_.tokens;
      if (turn_.number == 1) list.output_tokens = turn_.tokens;
    } else if (!list.is_answered) {
      list.is_answered = turn_.role == "assistant";
      (list.is_answered ? list.output_tokens : list.prompt_tokens) += turn_.tokens;
    }
  }

  void end_row(TraceDocument& at) {
    if (at.kind() == Kind::array) {
      if (lengths_ != 2) at.refuse("an array with two lengths");
      rows_.push_back(counted_);
      at.count_row();
      return;
    }
    bool any = false;
    for (const Turns& list : lists_) {
      // A row tells one conversation, in one way or with the answers of two models.
      if (!list.is_there || (any && list.key != "conversation_b")) continue;
      any = true;
      rows_.push_back({.prompt_tokens = at_most_int(list.prompt_tokens),
                       .output_tokens = at_most_int(list.output_tokens),
                       .model = list.is_lmsys ? models_[list.key == "conversation_b" ? 1 : 0] : "",
                       .time_ns = time_ns_});
      at.count_row();
    }
    if (!any) at.refuse("an object with conversations or messages");
  }

  void read_length(const TraceDocument& at) {
    if (at.index() == 0 && at.kind() == Kind::text) return;  // the prompt itself
    if (at.kind() != Kind::number || lengths_ == 2) at.refuse("two lengths");
    (lengths_ == 0 ? counted_.prompt_tokens : counted_.output_tokens) = at.count();
    ++lengths_;
  }

  static std::int32_t at_most_int(std::int64_t tokens) {
    return static_cast<std::int32_t>(std::min<std::int64_t>(tokens, INT32_MAX));
  }

  bool in_array_ = false;
  std::array<Turns, 5> lists_ = {{{.key = "conversations"},
                                  {.key = "messages"},
                                  {.key = "conversation", .is_lmsys = true},
                                  {.key = "conversation_a", .is_lmsys = true},
                                  {.key = "conversation_b", .is_lmsys = true}}};
  std::array<std::string, 2> models_;
  TimeNs time_ns_ = kNoTime;
  Turn turn_;
  Row counted_;
  int lengths_ = 0;
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
  const auto has = [&](std::string_view key) { return json_mentions(start, key); };
  if (!bytes.starts_with('{')) return false;
  if (has("conversations") || has("conversation") || has("conversation_a")) return true;
  // Other formats, in which messages belong to a session or are one of many things.
  const bool other = has("output_length") || has("session_id") || has("timestamp") ||
                     has("requests") || has("body");
  return has("messages") && !other;
}

ShareGptReader::ShareGptReader(LineReader& lines) {
  TraceDocument document(lines);
  Conversations conversations;
  while (document.read(conversations)) {
  }
  rows_ = conversations.take_rows();
  has_times_ = !rows_.empty() &&
               std::ranges::none_of(rows_, [](const Row& row) { return row.time_ns == kNoTime; });
}

bool ShareGptReader::next(TraceRecord& record) {
  if (at_ == rows_.size()) return false;
  const Row& row = rows_[at_++];
  record.prompt_tokens = row.prompt_tokens;
  record.output_tokens = row.output_tokens;
  record.class_name = row.model;
  record.time_ns = has_times_ ? row.time_ns : kNoTime;
  return true;
}

}  // namespace headroom
