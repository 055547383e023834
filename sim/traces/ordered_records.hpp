#pragma once
// The rows of a trace file in order of time, all of them as the file states them, as often as they
// are wanted. A file in order of time is read again in each pass, in constant memory. A row that is
// earlier than the one before it shows that a file is not: then the pass starts again, with all
// rows sorted in memory. What comes from a pipe is held in memory, too.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "workloads/traces/detect.hpp"

namespace headroom {

// Rows in memory; rows of equal time keep the order in which they came.
class RecordStore {
 public:
  void add(const TraceRecord& record, TraceClock clock);
  void sort_by_time();

  [[nodiscard]] std::size_t size() const { return rows_.size(); }
  // Sets all fields; the class name lasts as long as the store.
  void get(std::size_t place, TraceRecord& record) const;

 private:
  struct Row {
    TimeNs place_ns = 0;  // where it is sorted in; its time, if it has one
    std::int32_t prompt_tokens = 0;
    std::int32_t output_tokens = 0;
    std::uint32_t detail = UINT32_MAX;  // place in details_; UINT32_MAX: only time and tokens
  };

  [[nodiscard]] TimeNs place_of(const TraceRecord& record, TraceClock clock);

  std::vector<Row> rows_;
  std::vector<TraceRecord> details_;
  std::set<std::string, std::less<>> classes_;
  std::unordered_map<std::uint64_t, TimeNs> session_times_;  // latest time stated, by session
  TimeNs latest_ns_ = 0;
};

class OrderedRecords {
 public:
  // `columns` as in TraceFile. DataError: unreadable file, unknown format, malformed header.
  explicit OrderedRecords(const std::string& path, SessionInput input = SessionInput::detect,
                          const std::string& columns = {});

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string file_name() const;  // without directories
  [[nodiscard]] std::string_view format() const { return format_; }
  [[nodiscard]] TraceClock clock() const { return clock_; }
  // As TraceFile::warning, after the first pass.
  [[nodiscard]] std::string warning() const { return warning_; }

  // One pass: sink.start(), then sink.add(const TraceRecord&) for each row; start() again when the
  // file turns out not to be in order. DataError: a malformed row, a file that was changed.
  template <typename Sink>
  void pass(Sink& sink) {
    if (!in_memory_ && stream(sink)) return;
    if (!in_memory_) load();
    sink.start();
    TraceRecord record;
    for (std::size_t i = 0; i < store_.size(); ++i) {
      store_.get(i, record);
      sink.add(record);
    }
  }

  // Known after the first pass. Rows that are earlier than the last one before them that has a
  // time; 0 where rows have no common clock.
  [[nodiscard]] std::int64_t backward_steps() const { return backward_steps_; }
  [[nodiscard]] bool in_memory() const { return in_memory_; }
  [[nodiscard]] const SessionTurns& session_turns() const { return session_turns_; }

 private:
  // False at the first backward step.
  template <typename Sink>
  bool stream(Sink& sink) {
    open();
    sink.start();
    TraceRecord record;
    TimeNs latest_ns = kNoTime;
    TimeUnitCheck times;
    while (file_->next(record)) {
      times.add(record.time_ns);
      if (clock_ == TraceClock::absolute && record.time_ns != kNoTime) {
        if (record.time_ns < latest_ns) return false;
        latest_ns = record.time_ns;
      }
      sink.add(record);
    }
    session_turns_ = file_->session_turns();
    warning_ = file_->warning(times);
    return true;
  }

  void open();  // at its first row
  void load();

  std::string path_;
  SessionInput input_;
  std::string columns_;
  std::optional<TraceFile> file_;
  bool is_fresh_ = true;  // no row of file_ has been read
  InputFile::State file_state_;
  std::string_view format_;
  std::string warning_;
  TraceClock clock_ = TraceClock::absolute;
  RecordStore store_;
  bool in_memory_ = false;
  std::int64_t backward_steps_ = 0;
  SessionTurns session_turns_;
};

}  // namespace headroom
