#pragma once
// Which format a trace file has, by what it begins with, and the one way to read any of them.

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "workloads/traces/line_reader.hpp"
#include "workloads/traces/time_unit.hpp"
#include "workloads/traces/trace.hpp"
#include "workloads/traces/trace_reader.hpp"

namespace headroom {

// All formats with a name; the first that recognises the start of a file reads it. What none of
// them does is read as a table (table.hpp).
[[nodiscard]] std::span<const TraceFormat> trace_formats();

// A file of any known format, row by row.
class TraceFile {
 public:
  // `columns` says what those of a table mean (parse_columns), which the file then is. DataError:
  // unreadable file, git-lfs pointer, unknown format, malformed header, `input` for a format that
  // does not leave it open.
  explicit TraceFile(const std::string& path, SessionInput input = SessionInput::detect,
                     std::string_view columns = {});

  // As TraceReader::next.
  [[nodiscard]] bool next(TraceRecord& record) { return reader_->next(record); }

  [[nodiscard]] const TraceFormat& format() const { return format_; }
  [[nodiscard]] TraceClock clock() const { return reader_->clock(); }
  [[nodiscard]] SessionTurns session_turns() const;  // of the rows so far
  // What was guessed about its columns, and whether its times can be right; empty: nothing.
  [[nodiscard]] std::string understood_as(const TimeUnitCheck& times) const;
  // The same, and what else is wrong with the file as a whole, once it has been read to its end.
  [[nodiscard]] std::string warning(const TimeUnitCheck& times) const;
  [[nodiscard]] const LineReader& lines() const { return lines_; }  // place() is the latest row's

 private:
  LineReader lines_;
  const TraceFormat& format_;
  bool is_csv_;
  std::unique_ptr<TraceReader> reader_;
};

// DataError: as TraceFile, a malformed row, no request left.
[[nodiscard]] Trace read_trace(const std::string& path, const TraceOptions& options);

}  // namespace headroom
