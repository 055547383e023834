#include "tests/fuzz/trace_bytes.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "sim/kernel/check.hpp"
#include "sim/kernel/errors.hpp"
#include "workloads/traces/detect.hpp"

namespace headroom {
namespace {

namespace fs = std::filesystem;

void check_record(const TraceRecord& record) {
  HEADROOM_CHECK(record.prompt_tokens >= 0 && record.output_tokens >= 0, "negative tokens");
  HEADROOM_CHECK(record.thinking_tokens >= 0 && record.thinking_tokens <= record.output_tokens,
                 fmt::format("{} thinking tokens", record.thinking_tokens));
  HEADROOM_CHECK(record.max_tokens >= 0, "negative max_tokens");
  HEADROOM_CHECK(record.after_previous_ns >= -1 && record.measured_ttft_ns >= -1 &&
                     record.measured_e2el_ns >= -1,
                 "negative duration");
  HEADROOM_CHECK(record.after_previous_ns < 0 || record.session != kNoSession, "gap, no session");
  std::int64_t tokens = 0;
  for (const PrefixSegment& segment : record.prefix) {
    HEADROOM_CHECK(segment.tokens >= 1, "empty segment");
    tokens += segment.tokens;
  }
  HEADROOM_CHECK(tokens <= record.prompt_tokens, fmt::format("prefix of {} tokens", tokens));
}

struct RowByRow {
  std::string format;
  std::int64_t rows = 0;
};

RowByRow read_rows(const std::string& path) {
  TraceFile file(path);
  RowByRow read{.format = std::string(file.format().name)};
  TraceRecord record;
  while (file.next(record)) {
    check_record(record);
    ++read.rows;
  }
  return read;
}

void check_whole(const std::string& path, const RowByRow& expected) {
  try {
    const Trace trace = read_trace(path, {.zero_tokens = ZeroTokens::clamp});
    HEADROOM_CHECK(trace.rows_read == expected.rows && trace.format == expected.format,
                   fmt::format("{} rows of {}", trace.rows_read, trace.format));
    HEADROOM_CHECK(static_cast<std::int64_t>(trace.rows.size()) == expected.rows, "lost rows");
    HEADROOM_CHECK(trace.clock == TraceClock::per_session ||
                       std::ranges::is_sorted(trace.rows, {}, &TraceRow::time_ns),
                   "not sorted");
    HEADROOM_CHECK(trace.details.empty() || trace.details.size() == trace.rows.size(), "details");
  } catch (const DataError& error) {
    HEADROOM_CHECK(expected.rows == 0, error.what());  // "no request left"
  }
}

}  // namespace

TraceBytes::TraceBytes() {
  static int number = 0;
  folder_ = fs::temp_directory_path() / fmt::format("headroom_bytes_{}_{}", ::getpid(), ++number);
  fs::create_directories(folder_);
  const fs::path chunks = fs::path(HEADROOM_SOURCE_DIR) / "tests" / "data" / "traces" / "ragpulse";
  for (const fs::directory_entry& entry : fs::directory_iterator(chunks)) {
    fs::copy_file(entry.path(), folder_ / entry.path().filename());
  }
  path_ = (folder_ / "trace").string();
  fs::create_symlink(memory_.path(), path_);
}

TraceBytes::~TraceBytes() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string TraceBytes::read(std::string_view bytes) {
  memory_.write(bytes);
  try {
    const RowByRow rows = read_rows(path_);
    check_whole(path_, rows);
    return fmt::format("{} {}", rows.format, rows.rows);
  } catch (const DataError& error) {
    const std::string text = error.what();
    HEADROOM_CHECK(text.starts_with(folder_.string()) && text.find(": ") != std::string::npos,
                   text);
    return text.starts_with(path_) ? text.substr(path_.size()) : text;
  } catch (const InternalError&) {
    throw;
  } catch (const std::exception& error) {
    check_failed("only DataError", __FILE__, __LINE__, error.what());
  }
}

}  // namespace headroom
