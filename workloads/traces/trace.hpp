#pragma once
// A recorded trace in memory: arrivals relative to the earliest row of the file, in order of time
// (rows of equal time keep the file's order), and what was done to the file's rows to get there.

#include <cstdint>
#include <string>
#include <vector>

#include "sim/kernel/time.hpp"

namespace headroom {

struct TraceRow {
  TimeNs time_ns = 0;
  std::int32_t prompt_tokens = 0;  // >= 1
  std::int32_t output_tokens = 0;  // >= 1
};

// What becomes of a row with zero or missing tokens: public traces record failed requests so.
enum class ZeroTokens : std::uint8_t {
  drop,   // left out and counted
  clamp,  // zero becomes 1, counted
  error   // DataError
};

struct TraceOptions {
  ZeroTokens zero_tokens = ZeroTokens::drop;
};

// Rows with zero or missing tokens, by what was missing.
struct ZeroTokenRows {
  std::int64_t prompt_only = 0;
  std::int64_t output_only = 0;
  std::int64_t both = 0;
  [[nodiscard]] std::int64_t total() const { return prompt_only + output_only + both; }
};

struct Trace {
  std::vector<TraceRow> rows;
  std::string name;      // file name without its directories
  std::string format;    // name in the table of formats: "azure"
  TimeNs offset_ns = 0;  // time of the earliest row (dropped ones too), ns since 1970-01-01 UTC
  std::int64_t rows_read = 0;
  ZeroTokenRows rows_dropped;
  ZeroTokenRows rows_clamped;
  std::int64_t backward_steps = 0;  // rows of the file that are earlier than the row before them

  // Hash of the file's bytes, 64 lower-case hex digits. Reads the file once more (a pipe was hashed
  // while it was parsed); DataError when it is no longer what was parsed. Some 4 ms per MB.
  [[nodiscard]] std::string sha256() const;

  // What `sha256` needs of the file.
  std::string path;
  std::int64_t file_bytes = 0;
  std::int64_t modified_ns = 0;
  std::string pipe_sha256;  // empty for a regular file
};

// Collects rows in the order of the file, applies the policy for zero tokens, then rebases and
// sorts.
class TraceBuilder {
 public:
  explicit TraceBuilder(const TraceOptions& options) : zero_tokens_(options.zero_tokens) {}

  void reserve(std::int64_t rows) { trace_.rows.reserve(static_cast<std::size_t>(rows)); }
  // `time_ns` since 1970; tokens >= 0, where 0 also stands for a missing count. False when the
  // policy forbids the row: the reader knows its line.
  [[nodiscard]] bool add(TimeNs time_ns, std::int32_t prompt_tokens, std::int32_t output_tokens);
  [[nodiscard]] std::int64_t rows_read() const { return trace_.rows_read; }
  [[nodiscard]] Trace finish();

 private:
  void add_zero(TraceRow row);

  ZeroTokens zero_tokens_;
  Trace trace_;
  TimeNs earliest_ns_ = kNever;
  TimeNs previous_ns_ = INT64_MIN;
};

}  // namespace headroom
