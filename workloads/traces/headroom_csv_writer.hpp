#pragma once
// Writes records as Headroom's own table (headroom_csv.hpp), which its reader turns into equal
// records again.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "workloads/traces/trace_record.hpp"

namespace headroom {

// The columns of a table besides its time and token counts, and what its times count from.
struct TraceCsvColumns {
  TraceClock clock = TraceClock::absolute;
  bool thinking_tokens = false;
  bool max_tokens = false;
  bool priority = false;
  bool class_name = false;
  bool session = false;
  bool after_previous = false;
  bool prefix = false;
  bool output_segment = false;
  bool gives_up = false;
  bool measured_ttft = false;
  bool measured_e2el = false;

  // Adds the columns without which a field of `record` would be lost.
  void include(const TraceRecord& record);
};

class TraceCsvWriter {
 public:
  // Takes the text in pieces of some 64 KiB. What it does about a full disk is its own affair.
  using Sink = std::function<void(std::string_view text)>;

  TraceCsvWriter(Sink sink, const TraceCsvColumns& columns);
  TraceCsvWriter(const TraceCsvWriter&) = delete;
  TraceCsvWriter& operator=(const TraceCsvWriter&) = delete;

  // Fields without a column are left out. DataError, before anything is written: a row that the
  // table cannot state, so that its reader would refuse it or take it for another one.
  void write(const TraceRecord& record);
  // Writes the rest; only then is the table complete.
  void finish();

 private:
  void write_header();
  // Why the table cannot state it; empty: it can.
  [[nodiscard]] std::string_view obstacle(const TraceRecord& record) const;
  void write_optional_fields(const TraceRecord& record);
  // A comma, then the value; nothing but the comma when it is not stated.
  template <typename T>
  void write_field(T value, bool stated);
  template <typename T>
  void write_number(T value);
  void write_class(std::string_view name);
  void write_prefix(const std::vector<PrefixSegment>& prefix);

  Sink sink_;
  TraceCsvColumns columns_;
  std::string buffer_;
  std::int64_t rows_ = 0;
};

// As a field of CSV: in quotes where it holds a comma, a quote or the end of a line.
[[nodiscard]] std::string csv_field(std::string_view text);

}  // namespace headroom
