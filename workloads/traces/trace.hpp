#pragma once
// A recorded trace in memory: arrivals relative to the earliest row of the file, in order of time
// (rows of equal time keep the file's order), and what was done to the file's rows to get there.

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/kernel/time.hpp"
#include "workloads/traces/input_file.hpp"
#include "workloads/traces/trace_record.hpp"

namespace headroom {

struct TraceRow {
  TimeNs time_ns = 0;
  std::int32_t prompt_tokens = 0;  // >= 1
  std::int32_t output_tokens = 0;  // >= 1
};

// What only some formats know of a row.
struct TraceDetail {
  std::uint64_t session = kNoSession;
  TimeNs after_previous_ns = -1;  // sent so long after the answer before; negative: at its own time
  std::uint64_t output_segment = 0;
  std::uint64_t first_segment = 0;  // of the prompt: place in Trace::segments
  std::int32_t segment_count = 0;
  std::int32_t class_id = 0;
  std::int32_t priority = 0;
  std::int32_t max_tokens = 0;       // 0: the file does not say
  std::int32_t thinking_tokens = 0;  // of the output
  TimeNs gives_up_ns = -1;           // the client waits so long for the answer; negative: for ever
  // The row states no time: it was given that of the session's row before it.
  bool timeless = false;
};

// What becomes of a row with zero or missing tokens: public traces record failed requests so.
enum class ZeroTokens : std::uint8_t {
  drop,   // left out and counted
  clamp,  // zero becomes 1, counted
  error   // DataError
};

struct TraceOptions {
  ZeroTokens zero_tokens = ZeroTokens::drop;
  // Only rows with from <= time < to, by the trace's own time (from its earliest row), and of
  // these only the first `limit` in order of time.
  TimeNs from_ns = 0;
  TimeNs to_ns = kNever;
  std::int64_t limit = INT64_MAX;
  SessionInput session_input = SessionInput::detect;
  std::string columns = {};  // of a table: parse_columns; empty: by their names
};

// Rows with zero or missing tokens, by what was missing.
struct ZeroTokenRows {
  std::int64_t prompt_only = 0;
  std::int64_t output_only = 0;
  std::int64_t both = 0;
  [[nodiscard]] std::int64_t total() const { return prompt_only + output_only + both; }
  void count(const TraceRecord& record);
};

struct Trace {
  std::vector<TraceRow> rows;
  std::vector<TraceDetail> details;     // one per row, or none at all
  std::vector<PrefixSegment> segments;  // of all prompts
  std::vector<std::string> classes;     // names, by class id; empty: one class without a name
  TraceClock clock = TraceClock::absolute;

  std::string name;      // file name without its directories
  std::string format;    // name in the table of formats: "azure"
  std::string warning;   // of the file as a whole; empty: none
  TimeNs offset_ns = 0;  // time of the earliest row (dropped ones too), by the file's clock
  std::int64_t rows_read = 0;
  ZeroTokenRows rows_dropped;
  ZeroTokenRows rows_clamped;
  std::int64_t rows_outside = 0;    // of the window or limit
  std::int64_t backward_steps = 0;  // rows of the file that are earlier than the row before them
  SessionTurns session_turns;       // later turns of the file, where the format leaves them open

  [[nodiscard]] std::span<const PrefixSegment> prefix(std::size_t row) const {
    if (details.empty()) return {};
    const TraceDetail& detail = details[row];
    return std::span(segments).subspan(detail.first_segment,
                                       static_cast<std::size_t>(detail.segment_count));
  }

  // Hash of the file's content (unpacked when it is compressed), 64 lower-case hex digits. Reads
  // the file once more (a pipe was hashed while it was parsed); DataError when it is no longer what
  // was parsed. Some 4 ms per MB.
  [[nodiscard]] std::string sha256() const;

  // What `sha256` needs of the file.
  std::string path;
  InputFile::State file_state;
  std::string pipe_sha256;  // empty for a regular file
};

// A warning where a pause of more than a year is nearly all of the trace: one row whose time is
// wrong makes such a pause. Empty: there is none. The rows stand in order of time.
[[nodiscard]] std::string odd_gap(const Trace& trace);

// Into order of time; rows of equal time keep their order.
void sort_by_time(Trace& trace);

// Collects rows in the order of the file, applies the options, then rebases and sorts.
class TraceBuilder {
 public:
  // A file in order of time is cut to its window while it is read. Any other file is kept whole to
  // its end, because the order is known only then: `whole_file`.
  TraceBuilder(TraceOptions options, TraceClock clock, bool whole_file);

  void reserve(std::int64_t rows) { trace_.rows.reserve(static_cast<std::size_t>(rows)); }
  // False when the policy forbids the row for its zero tokens: the caller knows its line.
  [[nodiscard]] bool add(const TraceRecord& record);
  // Rows were cut off in the belief that the file is in order of time: read it again, whole.
  [[nodiscard]] bool must_read_again() const;
  [[nodiscard]] std::int64_t rows_read() const { return trace_.rows_read; }
  [[nodiscard]] Trace finish();

 private:
  [[nodiscard]] TimeNs time_of(const TraceRecord& record);
  [[nodiscard]] bool is_outside(TimeNs time_ns) const;
  void keep(const TraceRecord& record, const TraceRow& row);
  [[nodiscard]] std::int32_t class_id_of(std::string_view name);
  void cut();

  TraceOptions options_;
  bool whole_file_;
  Trace trace_;
  TimeNs first_ns_ = 0;
  TimeNs earliest_ns_ = kNever;
  TimeNs previous_ns_ = INT64_MIN;
  std::unordered_map<std::uint64_t, TimeNs> session_times_;     // latest time stated, by session
  std::map<std::string, std::int32_t, std::less<>> class_ids_;  // by name
};

}  // namespace headroom
