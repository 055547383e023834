#pragma once
// JSON of any size, value by value: a file that is one JSON value over any number of lines, or
// several of them one after the other. Nothing of it is kept; numbers keep their text, so that
// times are read to the exact nanosecond. Python's Infinity and NaN, which JSON does not have, are
// texts.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/kernel/time.hpp"
#include "workloads/traces/json_line.hpp"
#include "workloads/traces/line_reader.hpp"

namespace headroom {

class TraceDocument {
 public:
  // Receives the values in the order of the text.
  class Handler {
   public:
    virtual ~Handler() = default;
    virtual void value(TraceDocument& at) = 0;           // a number, text, boolean or null
    virtual void open(TraceDocument& /*container*/) {}   // an array or object begins
    virtual void close(TraceDocument& /*container*/) {}  // and ends
  };

  explicit TraceDocument(LineReader& lines);
  ~TraceDocument();
  TraceDocument(const TraceDocument&) = delete;
  TraceDocument& operator=(const TraceDocument&) = delete;

  // The next array or object at the top level; false when nothing follows. DataError: anything
  // else, malformed JSON, and what the handler refuses.
  [[nodiscard]] bool read(Handler& handler);

  // The path of the value passed to the handler. Its keys from the top, joined by '/'; an element
  // of an array is '#': "benchmarks/#/requests". A '/' or '#' within a key is written as '~'.
  [[nodiscard]] std::string_view path() const { return path_; }
  [[nodiscard]] JsonNode::Kind kind() const { return kind_; }
  // Of a number its digits, of a boolean "true" or "false". Valid until the handler returns.
  [[nodiscard]] std::string_view text() const { return text_; }
  // Its place, from 0, in the innermost array around it; call only for values in an array.
  [[nodiscard]] std::size_t index() const;
  // 0 .. 2^31 - 1; null is a missing count: 0.
  [[nodiscard]] std::int32_t count() const;
  // A number, or a text that is one, in units of `unit_ns`, >= 0; nothing when it is null.
  [[nodiscard]] std::optional<TimeNs> time(TimeNs unit_ns) const;

  // "path:line: input_lens[3] is 'x', expected `wanted` (n rows read)".
  [[noreturn]] void refuse(std::string_view wanted) const;
  [[nodiscard]] std::string place() const;  // "path:line"
  void count_row() { ++rows_read_; }
  [[nodiscard]] std::int64_t rows_read() const { return rows_read_; }

 private:
  class PythonNumbers;
  class Input;
  class Events;

  struct Frame {
    bool is_array = false;
    std::size_t path_size = 0;   // of the container
    std::size_t child_size = 0;  // array: of its elements
    std::int64_t index = -1;     // array: of its latest element
  };

  void enter_child();
  [[nodiscard]] std::string shown_path() const;

  std::unique_ptr<Input> input_;
  std::string path_;
  std::vector<Frame> frames_;
  JsonNode::Kind kind_ = JsonNode::Kind::null;
  std::string_view text_;
  std::int64_t rows_read_ = 0;
};

}  // namespace headroom
