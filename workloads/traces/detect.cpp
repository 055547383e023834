#include "workloads/traces/detect.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "sim/kernel/errors.hpp"
#include "workloads/traces/azure.hpp"

namespace headroom {
namespace {

constexpr std::array kFormats = {
    TraceFormat{.name = "azure",
                .first_line = "TIMESTAMP,ContextTokens,GeneratedTokens",
                .recognises = is_azure_header,
                .read = read_azure},
};

// At most 80 characters, and printable: it may be anything.
std::string shown(std::string_view line) {
  constexpr std::size_t kShown = 80;
  std::string text;
  for (const char c : line.substr(0, kShown)) {
    const bool printable = c >= ' ' && c <= '~';
    text += printable ? c : '?';
  }
  return line.size() > kShown ? text + "..." : text;
}

[[noreturn]] void refuse_unknown(std::string_view line, const LineReader& lines) {
  if (line.starts_with("version https://git-lfs.github.com/spec/v1")) {
    throw DataError(
        fmt::format("{}: is a git-lfs pointer, not the trace: run git lfs pull", lines.path()));
  }
  if (line.starts_with("\x1f\x8b")) {
    throw DataError(fmt::format("{}: is compressed with gzip: run gunzip first", lines.path()));
  }
  std::string known;
  for (const TraceFormat& format : kFormats) {
    known += fmt::format("\n  {}: {}", format.name, format.first_line);
  }
  throw DataError(fmt::format("{}: unknown trace format; its first line is '{}'. Known formats:{}",
                              lines.place(), shown(line), known));
}

const TraceFormat& format_of(std::string_view line, const LineReader& lines) {
  for (const TraceFormat& format : kFormats) {
    if (format.recognises(line)) return format;
  }
  refuse_unknown(line, lines);
}

}  // namespace

std::span<const TraceFormat> trace_formats() { return kFormats; }

Trace read_trace(const std::string& path, const TraceOptions& options) {
  LineReader lines(path);
  std::string_view line;
  if (!lines.next(line)) throw DataError(fmt::format("{}: is empty", path));
  const std::string first_line(line);
  const TraceFormat& format = format_of(first_line, lines);
  TraceBuilder rows(options);
  format.read(first_line, lines, rows);
  Trace trace = rows.finish();
  if (trace.rows.empty()) {
    throw DataError(fmt::format("{}: no request left ({} rows read, {} dropped for zero tokens)",
                                path, trace.rows_read, trace.rows_dropped.total()));
  }
  trace.name = std::filesystem::path(path).filename().string();
  trace.format = format.name;
  trace.path = path;
  trace.file_bytes = lines.file_state().bytes;
  trace.modified_ns = lines.file_state().modified_ns;
  if (!lines.file_state().is_regular) trace.pipe_sha256 = lines.pipe_sha256();
  return trace;
}

}  // namespace headroom
