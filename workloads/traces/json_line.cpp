#include "workloads/traces/json_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/kernel/errors.hpp"
#include "sim/serving/request.hpp"
#include "workloads/traces/decimal.hpp"
#include "workloads/traces/shown.hpp"
#include "workloads/traces/trace_record.hpp"

namespace headroom {
namespace {

using Kind = JsonNode::Kind;

// Builds nodes from the events of nlohmann's parser, which hands out the text of decimals.
class NodeBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit NodeBuilder(JsonNode& root) { open_.push_back(&root); }
  [[nodiscard]] const std::string& error() const { return error_; }

  bool null() override { return value(Kind::null, {}); }
  bool boolean(bool given) override { return value(Kind::boolean, given ? "true" : "false"); }
  bool number_integer(std::int64_t given) override {
    return integer(given, [&] { return std::to_string(given); });
  }
  bool number_unsigned(std::uint64_t given) override {
    if (given > static_cast<std::uint64_t>(INT64_MAX)) {
      return value(Kind::number, std::to_string(given));
    }
    return integer(static_cast<std::int64_t>(given), [&] { return std::to_string(given); });
  }
  bool number_float(double /*given*/, const std::string& text) override {
    return value(Kind::number, text);
  }
  bool string(std::string& text) override { return value(Kind::text, std::move(text)); }
  bool binary(nlohmann::json::binary_t& /*bytes*/) override { return false; }
  bool start_object(std::size_t /*size*/) override { return open(Kind::object); }
  bool key(std::string& name) override {
    constexpr std::size_t kMostKeys = 1000;  // no trace has so many; they are searched in a row
    std::vector<std::string>& keys = open_.back()->keys;
    if (keys.size() == kMostKeys) {
      error_ = fmt::format("(an object of more than {} keys)", kMostKeys);
      return false;
    }
    if (std::ranges::find(keys, name) != keys.end()) {
      error_ = fmt::format("(key '{}' appears twice)", shown(name));
      return false;
    }
    keys.push_back(std::move(name));
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t /*size*/) override { return open(Kind::array); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::json::exception& error) override {
    const auto object = std::find_if(open_.rbegin(), open_.rend(),
                                     [](const JsonNode* node) { return !node->keys.empty(); });
    error_ = json_error(position, error.what(), token,
                        object == open_.rend() ? std::string_view() : (*object)->keys.back());
    return false;
  }

 private:
  // An array stays a list of integers until something else comes.
  template <typename Text>
  bool integer(std::int64_t given, const Text& text) {
    JsonNode& parent = *open_.back();
    if (parent.kind == Kind::array && parent.items.empty()) {
      parent.integers.push_back(given);
      return true;
    }
    return value(Kind::number, text());
  }
  JsonNode& slot() {
    JsonNode& parent = *open_.back();
    if (parent.kind != Kind::array && parent.kind != Kind::object) return parent;  // the root
    for (const std::int64_t earlier : parent.integers) {
      parent.items.push_back({.kind = Kind::number, .text = std::to_string(earlier)});
    }
    parent.integers.clear();
    return parent.items.emplace_back();
  }
  bool value(Kind kind, std::string text) {
    JsonNode& node = slot();
    node.kind = kind;
    node.text = std::move(text);
    return true;
  }
  bool open(Kind kind) {
    constexpr std::size_t kDeepest = 64;  // no trace nests deeper; keeps recursion bounded
    if (open_.size() > kDeepest) {
      error_ = "nested too deeply";
      return false;
    }
    JsonNode& node = slot();
    node.kind = kind;
    if (&node != open_.back()) open_.push_back(&node);
    return true;
  }
  bool close() {
    if (open_.size() > 1) open_.pop_back();
    return true;
  }

  std::vector<JsonNode*> open_;  // a node's items do not grow while one of them is open
  std::string error_;
};

std::string shown(const JsonNode* value) {
  if (value == nullptr) return "missing";
  switch (value->kind) {
    case Kind::null: return "null";
    case Kind::array: return "an array";
    case Kind::object: return "an object";
    default: break;
  }
  return fmt::format("'{}'{}", printable(value->text),
                     value->text.size() > kShownBytes ? "..." : "");
}

bool absent(const JsonNode* value) { return value == nullptr || value->kind == Kind::null; }

bool numeric(const JsonNode& value) {
  return value.kind == Kind::number || value.kind == Kind::text;
}

}  // namespace

const JsonNode* JsonNode::find(std::string_view key) const {
  const auto found = std::ranges::find(keys, key);
  if (found == keys.end()) return nullptr;
  return &items[static_cast<std::size_t>(found - keys.begin())];
}

JsonNode parse_json_node(std::string_view text, std::string_view place) {
  JsonNode root;
  NodeBuilder builder(root);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) {
    throw DataError(fmt::format("{}: malformed JSON {}", place, builder.error()));
  }
  return root;
}

std::string json_error(std::size_t at, std::string_view what, std::string_view token,
                       std::string_view key) {
  const auto says = [what](std::string_view words) {
    return what.find(words) != std::string_view::npos;
  };
  std::string text = fmt::format("at byte {}", at);
  if (says("number overflow")) {
    text += fmt::format(": {} is '{}', out of range", shown(key), shown(token));
  } else if (says("invalid literal") && !key.empty()) {  // such as NaN
    text += fmt::format(": no JSON value after {}", shown(key));
  }
  return text;
}

bool json_mentions(const FileStart& start, std::string_view key) {
  const std::string quoted = fmt::format("\"{}\"", key);
  std::size_t at = start.bytes.find(quoted);
  while (at != std::string_view::npos) {
    at += quoted.size();
    while (at < start.bytes.size() && (start.bytes[at] == ' ' || start.bytes[at] == '\t')) ++at;
    if (at < start.bytes.size() && start.bytes[at] == ':') return true;
    at = start.bytes.find(quoted, at);
  }
  return false;
}

bool JsonRows::next() {
  if (any_) ++rows_read_;
  any_ = false;
  std::string_view line;
  if (!lines_.next(line)) return false;
  any_ = true;
  row_ = parse_json_node(line, lines_.place());
  if (row_.kind != Kind::object) {
    throw DataError(fmt::format("{}: row is {}, expected a JSON object ({} rows read)",
                                lines_.place(), shown(&row_), rows_read_));
  }
  return true;
}

std::int32_t JsonRows::count(const JsonNode& object, std::string_view key) const {
  const JsonNode* value = object.find(key);
  if (absent(value)) return 0;
  if (numeric(*value)) {
    if (const std::optional<std::int32_t> count = parse_count(value->text)) return *count;
  }
  refuse(key, value, fmt::format("an integer in 0 .. {}", INT32_MAX));
}

std::optional<TimeNs> JsonRows::time(const JsonNode& object, std::string_view key,
                                     TimeNs unit_ns) const {
  const JsonNode* value = object.find(key);
  if (absent(value)) return std::nullopt;
  if (numeric(*value)) {
    const std::optional<std::int64_t> time = parse_scaled_decimal(value->text, unit_ns);
    if (time && *time >= 0 && *time <= kLatestTraceNs) return time;
  }
  refuse(key, value, "a number >= 0 within 285 years");
}

TimeNs JsonRows::need_time(std::string_view key, TimeNs unit_ns) const {
  if (const std::optional<TimeNs> value = time(key, unit_ns)) return *value;
  refuse(key, row_.find(key), "a number >= 0");
}

const std::vector<std::int64_t>& JsonRows::integers(const JsonNode& object,
                                                    std::string_view key) const {
  static const std::vector<std::int64_t> kNone;
  const JsonNode* value = object.find(key);
  if (absent(value)) return kNone;
  if (value->kind == Kind::array && value->items.empty()) return value->integers;
  refuse(key, value, "an array of integers");
}

std::optional<std::int64_t> JsonRows::integer(const JsonNode& object, std::string_view key) const {
  const JsonNode* value = object.find(key);
  if (absent(value)) return std::nullopt;
  const bool whole = value->text.find_first_not_of("-0123456789") == std::string::npos;
  if (numeric(*value) && whole) {
    if (const std::optional<std::int64_t> integer = parse_scaled_decimal(value->text, 1)) {
      return integer;
    }
  }
  refuse(key, value, "a 64-bit integer");
}

void JsonRows::refuse(std::string_view key, const JsonNode* value, std::string_view wanted) const {
  throw DataError(fmt::format("{}: {} is {}, expected {} ({} rows read)", lines_.place(), key,
                              shown(value), wanted, rows_read_));
}

std::uint64_t text_id(std::string_view text) {
  std::uint64_t id = text.size();
  for (const char c : text) id = mixed_id(id, static_cast<unsigned char>(c));
  return id == kNoSession ? 0 : id;
}

}  // namespace headroom
