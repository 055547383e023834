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

// All formats; the first that recognises the start of a file reads it.
[[nodiscard]] std::span<const TraceFormat> trace_formats();

// A file of any known format, row by row.
class TraceFile {
 public:
  // DataError: unreadable file, git-lfs pointer, unknown format, malformed header, `input` for a
  // format that does not leave it open.
  explicit TraceFile(const std::string& path, SessionInput input = SessionInput::detect);

  // As TraceReader::next.
  [[nodiscard]] bool next(TraceRecord& record) { return reader_->next(record); }

  [[nodiscard]] const TraceFormat& format() const { return format_; }
  [[nodiscard]] TraceClock clock() const { return reader_->clock(); }
  [[nodiscard]] SessionTurns session_turns() const;  // of the rows so far
  // What is wrong with the file as a whole, once it has been read to its end; empty: nothing.
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
