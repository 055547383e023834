#pragma once
// Headroom's own table, which states all that any other format does. One header line, columns by
// name and in any order; the first three are needed, an empty field means "not stated":
//   arrival_ns          integer nanoseconds by one clock for all rows
//   prompt_tokens       0: missing, as in failed requests
//   output_tokens       likewise
//   thinking_tokens     part of output_tokens
//   max_tokens          declared by the client; 0: not declared
//   priority            integer, smaller is served first
//   class               any text without line breaks, quoted as in RFC 4180 where needed
//   session             0 .. 2^64 - 2
//   after_previous_ns   the request is sent so long after the answer before it in its session
//   prefix              the prompt from its first token: id:tokens|id:tokens..., ids 0 .. 2^64 - 1,
//                       1 or more tokens each, prompt_tokens at most in all
//   output_segment      identity of the answer in later prompts, 0 .. 2^64 - 1; 0: none
//   gives_up_ns         the client leaves so long after sending, unless it has the whole answer
//   measured_ttft_ns    what was measured when the trace was recorded
//   measured_e2el_ns
// session_time_ns in place of arrival_ns: nanoseconds since the start of the row's session (every
// row has one); then sessions need an arrival process. The first row decides on the clock: where
// it has no time no row has one, and requests need an arrival process; where it has one, only rows
// with after_previous_ns may do without. Anything else is refused, unknown columns too: a
// misspelled one would be lost in silence.

#include <optional>

#include "workloads/traces/csv_rows.hpp"
#include "workloads/traces/trace_reader.hpp"

namespace headroom {

[[nodiscard]] bool is_headroom_csv(const FileStart& start);

class HeadroomCsvReader final : public TraceReader {
 public:
  explicit HeadroomCsvReader(LineReader& lines);
  [[nodiscard]] bool next(TraceRecord& record) override;
  [[nodiscard]] TraceClock clock() const override { return clock_; }

 private:
  using Column = std::optional<CsvRows::Column>;

  void check_columns(const LineReader& lines) const;
  void set_tokens(TraceRecord& record) const;
  void set_time(TraceRecord& record) const;
  void set_prefix(TraceRecord& record) const;
  // The field; `none` where it is empty or its column is not there.
  template <typename T>
  [[nodiscard]] T number(const Column& column, T low, T high, T none) const;

  CsvRows rows_;
  Column session_time_;
  CsvRows::Column time_;
  CsvRows::Column prompt_;
  CsvRows::Column output_;
  Column thinking_;
  Column max_tokens_;
  Column priority_;
  Column class_;
  Column session_;
  Column after_previous_;
  Column prefix_;
  Column output_segment_;
  Column gives_up_;
  Column ttft_;
  Column e2el_;
  std::optional<bool> first_row_;  // whether there is one: it is read ahead
  TraceClock clock_ = TraceClock::absolute;
};

}  // namespace headroom
