#pragma once
// Which format a trace file has, by its first line, and the one function that reads any of them.

#include <span>
#include <string>
#include <string_view>

#include "workloads/traces/line_reader.hpp"
#include "workloads/traces/trace.hpp"

namespace headroom {

struct TraceFormat {
  std::string_view name;
  std::string_view first_line;  // what such a file begins with, for messages
  bool (*recognises)(std::string_view first_line);
  // Reads all rows after `first_line`.
  void (*read)(std::string_view first_line, LineReader& lines, TraceBuilder& rows);
};

// All formats; the first that recognises the first line reads the file.
[[nodiscard]] std::span<const TraceFormat> trace_formats();

// DataError: unreadable file, git-lfs pointer, unknown format, malformed row, no request left.
[[nodiscard]] Trace read_trace(const std::string& path, const TraceOptions& options);

}  // namespace headroom
