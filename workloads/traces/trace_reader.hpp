#pragma once
// Reads the rows of one trace file, one after the other, in constant memory where the format
// allows it. One file pair per format; docs/traces.md says what each format is.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "workloads/traces/line_reader.hpp"
#include "workloads/traces/trace_record.hpp"

namespace headroom {

class TraceReader {
 public:
  virtual ~TraceReader() = default;

  // The next row in the order of the file; false at its end. `record` is the same object in every
  // call, default at the first: a field that a format does not have may be left alone, any other
  // is set in every row. DataError: a malformed row.
  [[nodiscard]] virtual bool next(TraceRecord& record) = 0;

  [[nodiscard]] virtual TraceClock clock() const { return TraceClock::absolute; }

  // How the file was understood, where that is a guess; empty: it is none.
  [[nodiscard]] virtual std::string note() const { return {}; }

  // Of the rows so far; nullptr: the format leaves nothing open about them.
  [[nodiscard]] virtual const SessionTurns* session_turns() const { return nullptr; }
};

struct TraceFormat {
  std::string_view name;         // "azure"
  std::string_view begins_with;  // what such a file begins with, for messages
  bool (*recognises)(const FileStart& start);
  // `lines` stands at the first line and outlives the reader.
  std::unique_ptr<TraceReader> (*open)(LineReader& lines, SessionInput input);
  std::string_view column_in_ns = {};  // of arrivals as plain nanoseconds; empty: other units
  bool ends_with_line_break = false;   // a file that does not was cut
};

template <typename Reader>
[[nodiscard]] std::unique_ptr<TraceReader> open_as(LineReader& lines, SessionInput input) {
  if constexpr (std::is_constructible_v<Reader, LineReader&, SessionInput>) {
    return std::make_unique<Reader>(lines, input);
  } else {
    return std::make_unique<Reader>(lines);
  }
}

}  // namespace headroom
