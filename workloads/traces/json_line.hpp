#pragma once
// JSON as traces use it: objects of a few keys, one per line. Numbers keep their text, so that
// times are read to the exact nanosecond.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/kernel/time.hpp"
#include "workloads/traces/line_reader.hpp"

namespace headroom {

struct JsonNode {
  enum class Kind : std::uint8_t { null, boolean, number, text, array, object };

  Kind kind = Kind::null;
  std::string text = {};               // of a number: its digits; of a boolean: "true" or "false"
  std::vector<std::string> keys = {};  // of an object, one per item
  std::vector<JsonNode> items = {};    // of an array or object
  std::vector<std::int64_t> integers = {};  // of an array of integers only: it has no items

  [[nodiscard]] const JsonNode* find(std::string_view key) const;  // nullptr: not there
};

// DataError with `place` if the text is not a JSON value or continues after it.
[[nodiscard]] JsonNode parse_json_node(std::string_view text, std::string_view place);

// "at byte 9" and, where a single value is what is wrong, which: `what` is what nlohmann says,
// `token` the text that it stopped in, `key` the latest one before it (empty: none).
[[nodiscard]] std::string json_error(std::size_t at, std::string_view what, std::string_view token,
                                     std::string_view key);

// Whether `start` shows this key, without parsing: for telling formats apart.
[[nodiscard]] bool json_mentions(const FileStart& start, std::string_view key);

// The JSON objects of a file, line by line, with the one way in which malformed values are refused.
class JsonRows {
 public:
  explicit JsonRows(LineReader& lines) : lines_(lines) {}

  // The next row; false at the end. DataError: no JSON object.
  [[nodiscard]] bool next();
  [[nodiscard]] const JsonNode& row() const { return row_; }
  [[nodiscard]] std::int64_t rows_read() const { return rows_read_; }  // before this row
  [[nodiscard]] std::string place() const { return lines_.place(); }

  // Values of `object`, by default of the row. Each DataError names place, key and value.
  // 0 .. 2^31 - 1; missing, null: 0.
  [[nodiscard]] std::int32_t count(std::string_view key) const { return count(row_, key); }
  [[nodiscard]] std::int32_t count(const JsonNode& object, std::string_view key) const;
  // A number, or a text that is one, in units of `unit_ns`, >= 0; missing, null: nothing.
  [[nodiscard]] std::optional<TimeNs> time(std::string_view key, TimeNs unit_ns) const {
    return time(row_, key, unit_ns);
  }
  [[nodiscard]] std::optional<TimeNs> time(const JsonNode& object, std::string_view key,
                                           TimeNs unit_ns) const;
  [[nodiscard]] TimeNs need_time(std::string_view key, TimeNs unit_ns) const;
  // An array of integers; missing, null: empty.
  [[nodiscard]] const std::vector<std::int64_t>& integers(const JsonNode& object,
                                                          std::string_view key) const;
  [[nodiscard]] std::optional<std::int64_t> integer(const JsonNode& object,
                                                    std::string_view key) const;

  [[noreturn]] void refuse(std::string_view key, const JsonNode* value,
                           std::string_view wanted) const;

 private:
  LineReader& lines_;
  JsonNode row_;
  std::int64_t rows_read_ = 0;
  bool any_ = false;
};

// An identity out of a text such as a UUID (equal texts, equal ids).
[[nodiscard]] std::uint64_t text_id(std::string_view text);

}  // namespace headroom
